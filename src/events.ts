/**
 * What the package reports besides results and errors: one object per event, distinguished by `type`. Events name
 * sessions, positions and ids, never message text. Errors thrown by the handler are ignored.
 *
 * - `command`: one round trip to Redis was made; `error` is set if it failed.
 * - `connection_stalled`: three calls in a row timed out on one open connection; a connection that the store opened is
 *   replaced, one of the application's needs `socketTimeout`. Across a `Cluster` its connections
 *   count as one.
 * - `record_skipped`: a stored record could not be read and was left out of the result.
 * - `damaged`: a part of the session is missing in Redis; the result holds the rest.
 * - `conflict_kept`: a message id was written again with other content, and the first was kept.
 * - `tool_result_hidden`: a tool result whose call is not in the view was left out of the view.
 * - `reduced`, `reduction_stale`, `reduction_failed`: how an automatic reduction ended.
 * - `turn_repeated`: a turn that is already stored came again; nothing was written.
 * - `turn_not_stored`: a part of a turn was not stored, because its stored part is gone (`forgotten`), another writer
 *   wrote in between (`overtaken`), another middleware ended the agent's run past all later hooks (`skipped`), or the
 *   write failed (`failed`).
 * - `repaired`: messages were changed on their way to a model; stored messages stay as they are.
 */
export type MemoryEvent =
  | {
      readonly type: "command";
      readonly sessionId: string;
      readonly operation: string;
      readonly milliseconds: number;
      readonly error?: Error;
    }
  | {
      readonly type: "connection_stalled";
      readonly sessionId: string;
      readonly operation: string;
      readonly timeouts: number;
    }
  | {
      readonly type: "record_skipped";
      readonly sessionId: string;
      readonly position: number | undefined;
      readonly error: Error;
    }
  | { readonly type: "damaged"; readonly sessionId: string; readonly operation: string }
  | { readonly type: "conflict_kept"; readonly sessionId: string; readonly messageId: string }
  | {
      readonly type: "tool_result_hidden";
      readonly sessionId: string;
      readonly messageId: string | undefined;
      readonly toolCallId: string;
    }
  | {
      readonly type: "reduced";
      readonly sessionId: string;
      readonly before: { readonly messages: number; readonly tokens?: number };
      readonly after: { readonly messages: number; readonly tokens?: number };
      readonly overBudgetBy: number;
    }
  | { readonly type: "turn_repeated"; readonly sessionId: string; readonly turnId: string | undefined }
  | {
      readonly type: "turn_not_stored";
      readonly sessionId: string;
      readonly turnId: string | undefined;
      readonly reason: "forgotten" | "overtaken" | "skipped" | "failed";
      /** Why it failed. */
      readonly error?: unknown;
    }
  | { readonly type: "reduction_stale"; readonly sessionId: string }
  | { readonly type: "reduction_failed"; readonly sessionId: string; readonly error: unknown }
  | { readonly type: "repaired"; readonly sessionId: string; readonly rules: readonly string[] };

/** Receives every {@link MemoryEvent}; called synchronously, so keep it short. */
export type MemoryEventHandler = (event: MemoryEvent) => void;

/** Passes the event to the handler, if there is one. Errors thrown by the handler are ignored. */
export function report(handler: MemoryEventHandler | undefined, event: MemoryEvent): void {
  try {
    handler?.(event);
  } catch {
    // A failing observer must not fail the call that it observes.
  }
}
