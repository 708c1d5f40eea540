import { InMemoryIndex } from "./lists.js";
import { InMemoryLeases } from "./leases.js";
import { claimSession } from "./owners.js";
import { parseOptions, type SchemaOutput } from "../base/options.js";
import { emptyPage, emptyRounds, emptyView } from "../store/empty-results.js";
import { appendTo, replaceTailOf } from "./append.js";
import { commitTo, lookUp, newSession, pageOf, reidentify, rewindTo, roundsOf, viewOf } from "./session.js";
import type { InMemorySession } from "./session.js";
import { InMemoryForks } from "./forks.js";
import type { SessionForks } from "../store/session-forks.js";
import { InMemoryPages } from "./pages.js";
import { InMemoryRecordSwaps } from "./record-swaps.js";
import { InMemoryTransfers } from "./transfers.js";
import type { RecordSwaps } from "../store/record-swaps.js";
import type { SessionTransfers } from "../store/session-transfers.js";
import type { SessionPages } from "../store/session-pages.js";
import { InMemorySessions } from "./sessions.js";
import { planAppend, planReplaceTail } from "../store/append-plan.js";
import { InMemoryTurnQueue } from "./holds.js";
import { refuseFenced } from "../store/refusals.js";
import type { TurnQueue } from "../store/holds.js";
import { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "../store/request-checks.js";
import type { SessionAccess, SessionIndex } from "../store/lists.js";
import type { LogPage, ReadLogOptions, ReadViewOptions, SessionView, StoredRounds } from "../store/session-reads.js";
import type { CompleteSessionStore } from "../store/session-store.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../store/session-writes.js";
import type { ExpiryExtension } from "../store/session-expiry.js";
import { noteLimits } from "../store/size-limits.js";
import { inMemoryStoreSchema, type InMemorySessionStoreOptions } from "./in-memory-store-options.js";
import type { StoredTurn } from "../store/turns.js";
import { storedTurn } from "./turns.js";
import { applySide, sideWithPrefix, type SideWrite } from "../store/side-fields.js";
import { refuseUnlessKnown } from "../store/refusals.js";
import { withKey } from "../store/writer-keys.js";

/**
 * Keeps sessions in memory: for tests, demos and programs of one process. Other stores are tested against it.
 *
 * Implements all of {@link SessionStore}, including expiry and limits. Sessions are lost when the process ends.
 */
export class InMemorySessionStore implements CompleteSessionStore {
  readonly #options: SchemaOutput<typeof inMemoryStoreSchema>;
  readonly #sessions: InMemorySessions;
  readonly #leases = new InMemoryLeases();
  readonly pages: SessionPages;
  readonly forks: SessionForks;
  /** Lists of sessions by owner. */
  readonly index: SessionIndex;
  readonly recordSwaps: RecordSwaps;
  readonly transfers: SessionTransfers;
  readonly turnQueue: TurnQueue;

  /** @throws ConfigurationError naming the option. */
  constructor(options: InMemorySessionStoreOptions = {}) {
    this.#options = parseOptions("InMemorySessionStore", inMemoryStoreSchema(), options);
    const { now, onEvent } = this.#options;
    this.#sessions = new InMemorySessions({ now, onEvent, onSweep: () => this.#leases.clear(now()) });
    noteLimits(this, this.#options);
    this.pages = new InMemoryPages(this.#sessions);
    this.forks = new InMemoryForks(this.#sessions);
    this.index = new InMemoryIndex(this.#sessions);
    this.transfers = new InMemoryTransfers(this.#sessions);
    this.recordSwaps = new InMemoryRecordSwaps(this.#sessions);
    this.turnQueue = new InMemoryTurnQueue(this.#sessions);
  }

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(sessionId, request, this.#options);
    return this.#sessions.call("append", sessionId, () => {
      const found = this.#sessions.writable("append", sessionId, request);
      const { session, result } = appendTo({ sessionId, request, plan, session: found });
      return result.turn === undefined ? this.#kept(sessionId, session, { request, result }) : result;
    });
  }

  async replaceTail(sessionId: string, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(sessionId, request, this.#options);
    return this.#sessions.call("replaceTail", sessionId, () => {
      const found = this.#sessions.writable("append", sessionId, request);
      const { session, result } = replaceTailOf({ sessionId, request, plan, session: found });
      const writes = result !== "stale" && result.turn === undefined;
      return writes ? this.#kept(sessionId, session, { request, result }) : result;
    });
  }

  async readView(sessionId: string, options: ReadViewOptions = {}): Promise<SessionView> {
    const found = (session: InMemorySession) => ({ ...viewOf(session), ...lookUp(session, options) });
    const missing = () => ({ ...emptyView(), ...lookUp(newSession(), options) });
    return this.#sessions.read("readView", sessionId, { found, missing, owner: options.owner });
  }

  async readTurn(sessionId: string, name: string, access: SessionAccess = {}): Promise<StoredTurn | undefined> {
    const found = (session: InMemorySession) => {
      const turn = storedTurn(session, { name, stored: -1 })!;
      return turn.count === 0 && !turn.done ? undefined : turn;
    };
    return this.#sessions.read("readTurn", sessionId, { found, missing: () => undefined, ...access });
  }

  async readRounds(sessionId: string, count: number, access: SessionAccess = {}): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    return this.#sessions.read("readRounds", sessionId, {
      found: (session) => roundsOf(session, count),
      missing: emptyRounds,
      ...access,
    });
  }

  async readLog(sessionId: string, { from, limit, owner }: ReadLogOptions = {}): Promise<LogPage> {
    checkPage({ from, limit });
    return this.#sessions.read("readLog", sessionId, {
      found: (session) => pageOf(session, { from, limit }),
      missing: emptyPage,
      owner,
    });
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(sessionId, request);
    return this.#sessions.call("commitReduction", sessionId, () => {
      const session = this.#sessions.writable("commitReduction", sessionId, request);
      refuseFenced(sessionId, { fencingToken: request.fencingToken }, session);
      refuseUnlessKnown(sessionId, session?.key ?? "", request.keys);
      if (!commitTo(session, request, this.#sessions.now())) {
        return "stale";
      }
      this.#sessions.keep(sessionId, session, undefined);
      return "committed";
    });
  }

  async rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(sessionId, request);
    return this.#sessions.call("rewind", sessionId, () => {
      const session = this.#sessions.writable("rewind", sessionId, request);
      refuseFenced(sessionId, { fencingToken: request.fencingToken }, session);
      const outcome = rewindTo(session, request);
      if (outcome === "ended") {
        this.#sessions.delete(sessionId);
      } else if (outcome === "rewound") {
        this.#sessions.keep(sessionId, session, undefined);
      }
      return outcome === "stale" ? "stale" : "rewound";
    });
  }

  async clear(sessionId: string, access: SessionAccess = {}): Promise<void> {
    return this.#sessions.call("clear", sessionId, () => {
      this.#sessions.find(sessionId, access);
      this.#sessions.delete(sessionId);
    });
  }

  async rebuild(sessionId: string, identify: IdentifyRecord, access: SessionAccess = {}): Promise<void> {
    return this.#sessions.call("rebuild", sessionId, () => {
      const session = this.#sessions.writable("rebuild", sessionId, access);
      if (session !== undefined) {
        reidentify(session, identify);
        claimSession(session, access);
        this.#sessions.keep(sessionId, session, undefined);
      }
    });
  }

  async readSide(
    sessionId: string,
    prefix: string,
    access: SessionAccess = {},
  ): Promise<Readonly<Record<string, string>>> {
    return this.#sessions.read("readSide", sessionId, {
      found: ({ side }) => sideWithPrefix(side, prefix),
      missing: () => ({}),
      ...access,
    });
  }

  async writeSide(sessionId: string, changes: SideWrite): Promise<boolean> {
    checkSideWrite(sessionId, changes);
    return this.#sessions.call("writeSide", sessionId, () => {
      const stored = this.#sessions.writable("writeSide", sessionId, changes);
      refuseUnlessKnown(sessionId, stored?.key ?? "", changes.keys);
      refuseFenced(sessionId, changes, stored);
      if (!Object.entries(changes.expected ?? {}).every(([name, value]) => stored?.side.get(name) === value)) {
        return false;
      }
      const creates = Object.keys(changes.set ?? {}).length > 0;
      const session = stored ?? (creates ? newSession() : undefined);
      if (session !== undefined) {
        applySide(session.side, changes);
        session.key = withKey(session.key, creates ? changes.keys?.current : undefined);
        claimSession(session, changes);
      }
      this.#sessions.keep(sessionId, session, changes.ttlMs);
      return true;
    });
  }

  async acquireLease(sessionId: string, ttlMs: number): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    const request = { now: this.#options.now(), ttlMs };
    return this.#sessions.call("acquireLease", sessionId, () => this.#leases.acquire(sessionId, request));
  }

  async releaseLease(sessionId: string, token: string): Promise<void> {
    return this.#sessions.call("releaseLease", sessionId, () => this.#leases.release(sessionId, token));
  }

  async extendExpiry(sessionId: string, { ttlMs, ...access }: ExpiryExtension): Promise<boolean> {
    checkInteger("ttlMs", ttlMs, 1);
    return this.#sessions.call("extendExpiry", sessionId, () => {
      const session = this.#sessions.find(sessionId, access);
      const isMortal = session?.expiresAt !== undefined;
      this.#sessions.refresh(isMortal ? session : undefined, ttlMs);
      return isMortal;
    });
  }

  async close(): Promise<void> {
    this.#sessions.close();
    this.#leases.clear();
  }

  #kept(
    sessionId: string,
    session: InMemorySession | undefined,
    { request, result }: { readonly request: AppendRequest; readonly result: AppendResult },
  ): AppendResult {
    this.#sessions.keep(sessionId, session, request.ttlMs);
    return session === undefined ? result : { ...result, time: this.#sessions.now() };
  }
}
