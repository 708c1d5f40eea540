export type { RemoveFromText, TextRemoval } from "./shown/clean-text.js";
export { HistoryManager } from "./history-manager.js";
export type { HistoryManagerOptions, ModelCallRequest, UserVisibleOptions } from "./history-manager-options.js";
export { ReferenceManager, type Chunk, type SourceReference } from "./stored/reference-manager.js";
export type { ToolCallResponse } from "./turn/tool-results.js";
export type { FittedWindow } from "./window/token-window.js";
export type { ToolCallRequest } from "./turn/turn.js";
export type { UploadedContent } from "./stored/uploads.js";
export type { DroppedPart, WindowOutcome, WindowSection } from "./window/window-outcome.js";
