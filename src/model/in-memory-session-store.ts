import { InMemoryIndex } from "./lists.js";
import { InMemoryLeases } from "./leases.js";
import { claimSession } from "./owners.js";
import { parseOptions, type SchemaOutput } from "../base/options.js";
import { emptyPage, emptyRounds, emptyView } from "../store/empty-results.js";
import { appendTo, replaceTailOf, type Appended } from "./append.js";
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
import type { TurnQueue } from "../store/holds.js";
import { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "../store/request-checks.js";
import type { SessionIndex } from "../store/lists.js";
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
import type { SessionRef } from "../store/session-ref.js";
import type { SizeLimits } from "../store/size-limits.js";
import { inMemoryStoreSchema, type InMemorySessionStoreOptions } from "./in-memory-store-options.js";
import type { StoredTurn } from "../store/turns.js";
import { storedTurn } from "./turns.js";
import { applySide, sideWithPrefix, type SideWrite } from "../store/side-fields.js";
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
  readonly limits: SizeLimits;
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
    const { now, onEvent, maxMessageBytes, maxAppendBytes } = this.#options;
    this.#sessions = new InMemorySessions({ now, onEvent, onSweep: () => this.#leases.clear(now()) });
    this.limits = { maxMessageBytes, maxAppendBytes };
    this.pages = new InMemoryPages(this.#sessions);
    this.forks = new InMemoryForks(this.#sessions);
    this.index = new InMemoryIndex(this.#sessions);
    this.transfers = new InMemoryTransfers(this.#sessions);
    this.recordSwaps = new InMemoryRecordSwaps(this.#sessions);
    this.turnQueue = new InMemoryTurnQueue(this.#sessions);
  }

  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(session, request, this.#options);
    return this.#sessions.call("append", session, () => {
      const stored = this.#sessions.writable("append", session, ["erased", "key"]);
      const appended = appendTo({ session, request, plan, stored });
      return this.#kept(session, request, appended);
    });
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(session, request, this.#options);
    return this.#sessions.call("replaceTail", session, () => {
      const stored = this.#sessions.writable("append", session, ["erased", "key"]);
      const { session: changed, result } = replaceTailOf({ session, request, plan, stored });
      return result === "stale" ? result : this.#kept(session, request, { session: changed, result });
    });
  }

  async readView(session: SessionRef, options: ReadViewOptions = {}): Promise<SessionView> {
    const found = (stored: InMemorySession) => ({ ...viewOf(stored), ...lookUp(stored, options) });
    const missing = () => ({ ...emptyView(), ...lookUp(newSession(), options) });
    return this.#sessions.read("readView", session, { found, missing });
  }

  async readTurn(session: SessionRef, name: string): Promise<StoredTurn | undefined> {
    const found = (stored: InMemorySession) => {
      const turn = storedTurn(stored, { name, stored: -1 })!;
      return turn.count === 0 && !turn.done ? undefined : turn;
    };
    return this.#sessions.read("readTurn", session, { found, missing: () => undefined });
  }

  async readRounds(session: SessionRef, count: number): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    return this.#sessions.read("readRounds", session, {
      found: (stored) => roundsOf(stored, count),
      missing: emptyRounds,
    });
  }

  async readLog(session: SessionRef, { from, limit }: ReadLogOptions = {}): Promise<LogPage> {
    checkPage({ from, limit });
    return this.#sessions.read("readLog", session, {
      found: (stored) => pageOf(stored, { from, limit }),
      missing: emptyPage,
    });
  }

  async commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(session, request);
    return this.#sessions.call("commitReduction", session, () => {
      const stored = this.#sessions.writable("commitReduction", session);
      if (!commitTo(stored, session, { request, now: this.#sessions.now() })) {
        return "stale";
      }
      this.#sessions.keep(session.id, stored, undefined);
      return "committed";
    });
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(session, request);
    return this.#sessions.call("rewind", session, () => {
      const stored = this.#sessions.writable("rewind", session);
      const outcome = rewindTo(stored, request);
      if (outcome === "ended") {
        this.#sessions.delete(session.id);
      } else if (outcome === "rewound") {
        this.#sessions.keep(session.id, stored, undefined);
      }
      return outcome === "stale" ? "stale" : "rewound";
    });
  }

  async clear(session: SessionRef): Promise<void> {
    return this.#sessions.call("clear", session, () => {
      this.#sessions.find(session);
      this.#sessions.delete(session.id);
    });
  }

  async rebuild(session: SessionRef, identify: IdentifyRecord): Promise<void> {
    return this.#sessions.call("rebuild", session, () => {
      const stored = this.#sessions.writable("rebuild", session, ["erased"]);
      if (stored !== undefined) {
        reidentify(stored, identify);
        stored.ownership.owner ??= session.owner;
        this.#sessions.keep(session.id, stored, undefined);
      }
    });
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    return this.#sessions.read("readSide", session, {
      found: ({ side }) => sideWithPrefix(side, prefix),
      missing: () => ({}),
    });
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    checkSideWrite(session, changes);
    return this.#sessions.call("writeSide", session, () => {
      const found = this.#sessions.writable("writeSide", session);
      if (!Object.entries(changes.expected ?? {}).every(([name, value]) => found?.side.get(name) === value)) {
        return false;
      }
      const creates = Object.keys(changes.set ?? {}).length > 0;
      const stored = found ?? (creates ? newSession() : undefined);
      if (stored !== undefined) {
        applySide(stored.side, changes);
        stored.key = withKey(stored.key, creates ? session.keys?.current : undefined);
        claimSession(stored, session);
      }
      this.#sessions.keep(session.id, stored, changes.ttlMs);
      return true;
    });
  }

  async acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    const request = { now: this.#options.now(), ttlMs };
    return this.#sessions.call("acquireLease", session, () => this.#leases.acquire(session.id, request));
  }

  async releaseLease(session: SessionRef, token: string): Promise<void> {
    return this.#sessions.call("releaseLease", session, () => this.#leases.release(session.id, token));
  }

  async extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    checkInteger("ttlMs", ttlMs, 1);
    return this.#sessions.call("extendExpiry", session, () => {
      const stored = this.#sessions.find(session);
      const isMortal = stored?.expiresAt !== undefined;
      this.#sessions.refresh(isMortal ? stored : undefined, ttlMs);
      return isMortal;
    });
  }

  async close(): Promise<void> {
    this.#sessions.close();
    this.#leases.clear();
  }

  /** Keeps what an append made of a session; one that found its turn stored wrote nothing. */
  #kept({ id }: SessionRef, { ttlMs }: AppendRequest, { session, result }: Appended<AppendResult>): AppendResult {
    if (result.turn !== undefined) {
      return result;
    }
    this.#sessions.keep(id, session, ttlMs);
    return session === undefined ? result : { ...result, time: this.#sessions.now() };
  }
}
