export { readEarlierTool, type ReadEarlierOptions } from "../memory/read-earlier.js";
export type { RemoveFromText, TextRemoval } from "../tool-loop/text-cleaner.js";
export { HistoryManager } from "../tool-loop/history-manager.js";
export type {
  HistoryManagerOptions,
  ModelCallRequest,
  UserVisibleOptions,
} from "../tool-loop/history-manager-options.js";
export type { ToolCallResponse } from "../tool-loop/turn/tool-results.js";
export type { FittedWindow, WindowOutcome } from "../tool-loop/token-window/request-window.js";
export type { ToolCallRequest } from "../tool-loop/turn/turn.js";
export type { UploadedContent } from "../tool-loop/stored/uploads.js";
