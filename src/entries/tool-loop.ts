export { readEarlierTool, type ReadEarlierOptions } from "../memory/histories/read-earlier.js";
export type { RemoveFromText, TextRemoval } from "../doors/tool-loop/text-cleaner.js";
export { HistoryManager } from "../doors/tool-loop/history-manager.js";
export type {
  HistoryManagerOptions,
  ModelCallRequest,
  UserVisibleOptions,
} from "../doors/tool-loop/history-manager-options.js";
export type { ToolCallResponse } from "../doors/tool-loop/turn/tool-results.js";
export type { FittedWindow, WindowOutcome } from "../doors/tool-loop/token-window/request-window.js";
export type { ToolCallRequest } from "../doors/tool-loop/turn/turn.js";
export type { UploadedContent } from "../doors/tool-loop/stored/references.js";
