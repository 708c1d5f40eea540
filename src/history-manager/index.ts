export type { RemoveFromText, TextRemoval } from "./clean-text.js";
export { HistoryManager } from "./history-manager.js";
export type { HistoryManagerOptions, ModelCallRequest, UserVisibleOptions } from "./history-manager-options.js";
export { ReferenceManager, type Chunk, type SourceReference } from "./reference-manager.js";
export type { ToolCallResponse } from "./tool-results.js";
export type { FittedWindow } from "./token-window.js";
export type { ToolCallRequest } from "./turn.js";
export type { UploadedContent } from "./uploads.js";
export type { DroppedPart, WindowOutcome, WindowSection } from "./window-outcome.js";
