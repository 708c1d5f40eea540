import { BoundedMap } from "../base/bounded-map.js";

const capacity = 10_000;

/**
 * Positions of a session as this process saw them last. Other processes may have moved them since; they only say where
 * to look first.
 */
export interface SeenSession {
  /** Positions of the oldest kept record and of the first one in the view; undefined if only the end was seen. */
  readonly view: { readonly base: number; readonly start: number } | undefined;
  /** Position of the next record. */
  readonly next: number;
}

/** What this process saw last of up to 10,000 sessions; evicts the least recently used. */
export class SessionCache {
  readonly #sessions = new BoundedMap<string, SeenSession>(capacity);

  get(sessionId: string): SeenSession | undefined {
    return this.#sessions.get(sessionId);
  }

  /** Notes the end of the log and the view; without a view, the known one stays. */
  note(sessionId: string, next: number, view = this.get(sessionId)?.view): void {
    this.#sessions.set(sessionId, { next, view: view && { base: view.base, start: view.start } });
  }

  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }
}
