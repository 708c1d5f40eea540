import { z } from "zod";
import { InMemoryLeases } from "./in-memory-leases.js";
import { report, type MemoryEventHandler } from "../../events.js";
import { anyFunction, lazy, parseOptions, positiveInteger, type SchemaOutput } from "../../options.js";
import { emptyPage, emptyRounds, emptyView } from "../empty-results.js";
import { appendTo, replaceTailOf } from "./in-memory-append.js";
import {
  commitTo,
  lookUp,
  newSession,
  pageOf,
  reidentify,
  rewindTo,
  roundsOf,
  viewOf,
  type InMemorySession,
} from "./in-memory-session.js";
import { checkSessionId } from "../session-id-rules.js";
import { closed } from "../refusals.js";
import { defaultMaxAppendBytes, defaultMaxMessageBytes, planAppend, planReplaceTail } from "../append-plan.js";
import { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "../request-checks.js";
import type { LeaseOptions } from "../leases.js";
import type { LogPage, ReadViewOptions, SessionView, StoredRounds } from "../session-reads.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  CompleteSessionStore,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
  SideWrite,
} from "../session-store.js";
import type { StoredTurn } from "../turns.js";
import { storedTurn } from "./in-memory-turns.js";
import { applySide, sideWithPrefix } from "../side-fields.js";

/** Options of {@link InMemorySessionStore}. */
export interface InMemorySessionStoreOptions {
  /** Largest record in bytes of UTF-8. @default 1_000_000 */
  readonly maxMessageBytes?: number;
  /** Largest append in bytes of UTF-8, side fields included. @default 10_000_000 */
  readonly maxAppendBytes?: number;
  /** The clock for expiry, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Receives a `command` event for every call, as for a round trip to Redis. */
  readonly onEvent?: MemoryEventHandler;
}

const optionsSchema = lazy(() =>
  z.strictObject({
    maxMessageBytes: positiveInteger.default(defaultMaxMessageBytes),
    maxAppendBytes: positiveInteger.default(defaultMaxAppendBytes),
    now: anyFunction<() => number>().default(() => Date.now),
    onEvent: anyFunction<MemoryEventHandler>().optional(),
  }),
);

/**
 * Keeps sessions in memory: for tests, demos and programs of one process. Other stores are tested against it.
 *
 * Implements all of {@link SessionStore}, including expiry and limits. Sessions are lost when the process ends.
 */
export class InMemorySessionStore implements CompleteSessionStore {
  readonly #options: SchemaOutput<typeof optionsSchema>;
  readonly #sessions = new Map<string, InMemorySession>();
  readonly #leases = new InMemoryLeases();
  #sweepAt = 1_000;
  #closed = false;

  constructor(options: InMemorySessionStoreOptions = {}) {
    this.#options = parseOptions("InMemorySessionStore", optionsSchema(), options);
  }

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(sessionId, request, this.#options);
    return this.#call("append", sessionId, () => {
      const { session, result } = appendTo({ sessionId, request, plan, session: this.#find(sessionId) });
      this.#keep(sessionId, session, result.turn === undefined ? request.ttlMs : undefined);
      return result;
    });
  }

  async replaceTail(sessionId: string, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(sessionId, request, this.#options);
    return this.#call("replaceTail", sessionId, () => {
      const { session, result } = replaceTailOf({ sessionId, request, plan, session: this.#find(sessionId) });
      const writes = result !== "stale" && result.turn === undefined;
      this.#keep(sessionId, session, writes ? request.ttlMs : undefined);
      return result;
    });
  }

  async readView(sessionId: string, options: ReadViewOptions = {}): Promise<SessionView> {
    const found = (session: InMemorySession) => ({ ...viewOf(session), ...lookUp(session, options) });
    const missing = () => ({ ...emptyView(), ...lookUp(newSession(), options) });
    return this.#read("readView", sessionId, { found, missing });
  }

  async readTurn(sessionId: string, name: string): Promise<StoredTurn | undefined> {
    const found = (session: InMemorySession) => {
      const turn = storedTurn(session, { name, stored: -1 })!;
      return turn.count === 0 && !turn.done ? undefined : turn;
    };
    return this.#read("readTurn", sessionId, { found, missing: () => undefined });
  }

  async readRounds(sessionId: string, count: number): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    return this.#read("readRounds", sessionId, {
      found: (session) => roundsOf(session, count),
      missing: emptyRounds,
    });
  }

  async readLog(
    sessionId: string,
    { from, limit }: { readonly from?: number; readonly limit?: number } = {},
  ): Promise<LogPage> {
    checkPage({ from, limit });
    return this.#read("readLog", sessionId, {
      found: (session) => pageOf(session, { from, limit }),
      missing: emptyPage,
    });
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(sessionId, request);
    return this.#call("commitReduction", sessionId, () =>
      commitTo(this.#find(sessionId), request) ? "committed" : "stale",
    );
  }

  async rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(sessionId, request);
    return this.#call("rewind", sessionId, () => {
      const outcome = rewindTo(this.#find(sessionId), request);
      if (outcome === "ended") {
        this.#sessions.delete(sessionId);
      }
      return outcome === "stale" ? "stale" : "rewound";
    });
  }

  async clear(sessionId: string): Promise<void> {
    return this.#call("clear", sessionId, () => void this.#sessions.delete(sessionId));
  }

  async rebuild(sessionId: string, identify: IdentifyRecord): Promise<void> {
    return this.#read("rebuild", sessionId, {
      found: (session) => reidentify(session, identify),
      missing: () => undefined,
    });
  }

  async readSide(sessionId: string, prefix: string): Promise<Readonly<Record<string, string>>> {
    return this.#read("readSide", sessionId, {
      found: ({ side }) => sideWithPrefix(side, prefix),
      missing: () => ({}),
    });
  }

  async writeSide(sessionId: string, changes: SideWrite): Promise<boolean> {
    checkSideWrite(sessionId, changes);
    return this.#call("writeSide", sessionId, () => {
      const stored = this.#find(sessionId);
      if (!Object.entries(changes.expected ?? {}).every(([name, value]) => stored?.side.get(name) === value)) {
        return false;
      }
      const creates = Object.keys(changes.set ?? {}).length > 0;
      const session = stored ?? (creates ? newSession() : undefined);
      if (session !== undefined) {
        applySide(session.side, changes);
      }
      this.#keep(sessionId, session, changes.ttlMs);
      return true;
    });
  }

  async acquireLease(sessionId: string, ttlMs: number, options: LeaseOptions = {}): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    const request = { ...options, now: this.#options.now(), ttlMs };
    return this.#call("acquireLease", sessionId, () => this.#leases.acquire(sessionId, request));
  }

  async releaseLease(sessionId: string, token: string, options: LeaseOptions = {}): Promise<void> {
    return this.#call("releaseLease", sessionId, () => this.#leases.release(sessionId, token, options));
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#sessions.clear();
    this.#leases.clear();
  }

  #read<T>(
    operation: string,
    sessionId: string,
    { found, missing }: { found: (session: InMemorySession) => T; missing: () => T },
  ): T {
    return this.#call(operation, sessionId, () => {
      const session = this.#find(sessionId);
      return session === undefined ? missing() : found(session);
    });
  }

  #call<T>(operation: string, sessionId: string, work: () => T): T {
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

  #find(sessionId: string): InMemorySession | undefined {
    const session = this.#sessions.get(sessionId);
    return session !== undefined && this.#expired(session) ? undefined : session;
  }

  #keep(sessionId: string, session: InMemorySession | undefined, ttlMs: number | undefined): void {
    if (session === undefined) {
      return;
    }
    session.expiresAt = ttlMs === undefined ? session.expiresAt : this.#options.now() + ttlMs;
    this.#sessions.set(sessionId, session);
    if (this.#sessions.size > this.#sweepAt) {
      this.#sweep();
    }
  }

  // Expired sessions that are never read again must not fill the memory. Doubling the mark keeps the cost constant.
  #sweep(): void {
    for (const [sessionId, session] of this.#sessions) {
      if (this.#expired(session)) {
        this.#sessions.delete(sessionId);
      }
    }
    this.#leases.clear(this.#options.now());
    this.#sweepAt = Math.max(1_000, 2 * this.#sessions.size);
  }

  #expired({ expiresAt }: InMemorySession): boolean {
    return expiresAt !== undefined && this.#options.now() > expiresAt;
  }
}
