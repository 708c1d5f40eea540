import { type ContextWindow, contextWindow } from "./context-window.js";

// Apart from contextWindow, which the main entry needs at once: the build would else put what that needs into every
// bundle of a history.

/** The reducer of a memory that names none. */
export function defaultWindow(): ContextWindow {
  return contextWindow() as ContextWindow;
}
