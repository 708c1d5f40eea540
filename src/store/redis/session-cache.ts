import { BoundedMap } from "../../bounded-map.js";

const capacity = 10_000;

/**
 * Positions of a session as this process saw them last. Others may have moved them since: they only say where to look
 * first.
 */
export interface SeenSession {
  /** Of the oldest record that is kept, and of the first that is shown; undefined where only the end was seen. */
  readonly view: { readonly base: number; readonly start: number } | undefined;
  /** Of the record that comes next. */
  readonly next: number;
}

/** What this process saw last of as many sessions as are worth remembering; the longest unused goes first. */
export class SessionCache {
  readonly #sessions = new BoundedMap<string, SeenSession>(capacity);

  get(sessionId: string): SeenSession | undefined {
    return this.#sessions.get(sessionId);
  }

  /** Notes the end of the log, and what was seen of the view; without that, what was known of it stays. */
  note(sessionId: string, next: number, view = this.get(sessionId)?.view): void {
    this.#sessions.set(sessionId, { next, view: view && { base: view.base, start: view.start } });
  }

  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }
}
