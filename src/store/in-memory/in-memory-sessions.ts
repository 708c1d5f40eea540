import { report, type MemoryEventHandler } from "../../events.js";
import { closed } from "../refusals.js";
import { checkSessionId } from "../session-id-rules.js";
import type { InMemorySession } from "./in-memory-session.js";

/** Options of {@link InMemorySessions}. */
export interface InMemorySessionsOptions {
  readonly now: () => number;
  readonly onEvent: MemoryEventHandler | undefined;
  /** Called when expired sessions are removed. */
  readonly onSweep: () => void;
}

/** The sessions of a store in memory, with their expiry. All parts of the store work on them. */
export class InMemorySessions {
  readonly #options: InMemorySessionsOptions;
  readonly #sessions = new Map<string, InMemorySession>();
  #sweepAt = 1_000;
  #closed = false;

  constructor(options: InMemorySessionsOptions) {
    this.#options = options;
  }

  /** The store's time in milliseconds. */
  now(): number {
    return this.#options.now();
  }

  /** Does a call's work and reports it, as a round trip to Redis would be. */
  call<T>(operation: string, sessionId: string, work: () => T): T {
    checkSessionId(sessionId);
    if (this.#closed) {
      throw closed(operation, sessionId);
    }
    const began = performance.now();
    try {
      return work();
    } finally {
      report(this.#options.onEvent, { type: "command", sessionId, operation, milliseconds: performance.now() - began });
    }
  }

  /** A call that reads a session. */
  read<T>(
    operation: string,
    sessionId: string,
    { found, missing }: { found: (session: InMemorySession) => T; missing: () => T },
  ): T {
    return this.call(operation, sessionId, () => {
      const session = this.find(sessionId);
      return session === undefined ? missing() : found(session);
    });
  }

  /** A session that has not expired. */
  find(sessionId: string): InMemorySession | undefined {
    const session = this.#sessions.get(sessionId);
    return session !== undefined && this.#expired(session) ? undefined : session;
  }

  /** Stores a session that was written to, and sets its expiry where one is given. */
  keep(sessionId: string, session: InMemorySession | undefined, ttlMs: number | undefined): void {
    if (session === undefined) {
      return;
    }
    session.updated = this.now();
    session.created ??= session.updated;
    this.refresh(session, ttlMs);
    this.#sessions.set(sessionId, session);
    if (this.#sessions.size > this.#sweepAt) {
      this.#sweep();
    }
  }

  /** Lets a session expire this many milliseconds from now; undefined leaves its expiry as it is. */
  refresh(session: InMemorySession | undefined, ttlMs: number | undefined): void {
    if (session !== undefined && ttlMs !== undefined) {
      session.expiresAt = this.now() + ttlMs;
    }
  }

  /** Removes a session. */
  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** Removes all sessions and makes all later calls fail with `closed`. */
  close(): void {
    this.#closed = true;
    this.#sessions.clear();
  }

  // Expired sessions that are never read again must not fill the memory. Doubling the mark keeps the cost constant.
  #sweep(): void {
    for (const [sessionId, session] of this.#sessions) {
      if (this.#expired(session)) {
        this.#sessions.delete(sessionId);
      }
    }
    this.#options.onSweep();
    this.#sweepAt = Math.max(1_000, 2 * this.#sessions.size);
  }

  #expired({ expiresAt }: InMemorySession): boolean {
    return expiresAt !== undefined && this.now() > expiresAt;
  }
}
