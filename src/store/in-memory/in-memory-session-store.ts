import * as z from "zod/mini";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, parseOptions } from "../../base/options.js";
import { planAppend, type SizeLimits, sizeLimits, noRecords } from "../contract/append-decision.js";
import type { SessionData, SessionCopies } from "../contract/session-data.js";
import type {
  SessionEdits,
  SessionKeyState,
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../contract/session-writes.js";
import { type HoldRequest, emptyView, type ReadViewOptions, type SessionView } from "../contract/session-reads.js";
import type { SessionLists, SessionRef, StoredKey } from "../contract/session-ref.js";
import type { SessionStore } from "../contract/session-store.js";
import { appendTo } from "./append.js";
import { InMemorySessionData, InMemoryCopies } from "./session-data.js";
import { acquireHold, commitTo, lookUp, newSession, viewOf, reidentify } from "./session.js";
import { InMemoryLists } from "./lists.js";
import { InMemorySessions } from "./sessions.js";

/** Options of `InMemorySessionStore`. */
export interface InMemorySessionStoreOptions {
  /** Largest record and largest append, in bytes of UTF-8. @default 1,000,000 and 10,000,000 */
  readonly limits?: Partial<SizeLimits>;
  /** The clock for expiry, in milliseconds since 1970. @default Date.now */
  readonly now?: () => number;
  /** Receives a `command` event for every call, as for a round trip to Redis. */
  readonly onEvent?: MemoryEventHandler;
}

const schema = lazy(() =>
  z.strictObject({
    limits: sizeLimits(),
    now: z._default(anyFunction<() => number>(), () => Date.now),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);

/**
 * Keeps sessions in memory, for tests, demos and programs of one process. The reference implementation that other
 * stores are tested against.
 *
 * Implements all of {@link SessionStore}, including expiry and limits. Sessions are lost when the process ends.
 */
export class InMemorySessionStore implements SessionStore {
  readonly #sessions: InMemorySessions;
  readonly limits: SizeLimits;
  readonly edits: SessionEdits;
  readonly data: SessionData;
  /** Lists of sessions by owner. */
  readonly lists: SessionLists;
  readonly copies: SessionCopies;

  /** @throws ConfigurationError naming the option. */
  constructor(options: InMemorySessionStoreOptions = {}) {
    const { now, onEvent, limits } = parseOptions("InMemorySessionStore", schema(), options);
    this.#sessions = new InMemorySessions({ now, onEvent });
    this.limits = limits;
    this.edits = new InMemoryEdits(this.#sessions, this.limits);
    this.data = new InMemorySessionData(this.#sessions);
    this.lists = new InMemoryLists(this.#sessions);
    this.copies = new InMemoryCopies(this.#sessions);
  }

  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(session, request, this.limits);
    const append = () => appendTo(this.#sessions, { session, request, plan }) as AppendResult;
    return this.#sessions.call("append", session, append);
  }

  async readView(session: SessionRef, options: ReadViewOptions = {}): Promise<SessionView> {
    const { take } = options;
    if (take === undefined) {
      return this.#sessions.call("readView", session, () => this.#viewOf(session, options));
    }
    return this.#sessions.call("acquireHold", session, () => this.#acquireAndRead(session, options, take));
  }

  async commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    return this.#sessions.call("commitReduction", session, () => {
      const stored = this.#sessions.writable("commitReduction", session);
      if (!commitTo(stored, session, { request, now: this.#sessions.now() })) {
        return "stale";
      }
      this.#sessions.keep(session.id, stored, undefined);
      return "committed";
    });
  }

  async clear(session: SessionRef): Promise<string> {
    return this.#sessions.call("clear", session, () => {
      const stored = this.#sessions.writable("clear", session, session.hold ? ["erased", "hold"] : []);
      this.#sessions.delete(session.id);
      if (session.hold === undefined) {
        return "";
      }
      const { queue, fence, expiresAt } = stored ?? newSession();
      const cleared = { ...newSession(), queue, fence, expiresAt };
      this.#sessions.keep(session.id, cleared, undefined);
      return cleared.epoch;
    });
  }

  /** Acquires the hold, unless the turn is stored with its answer, and reads the view in the same step. */
  #acquireAndRead(session: SessionRef, options: ReadViewOptions, take: HoldRequest): SessionView {
    const mark = this.#sessions.find(session)?.turns.get(options.turn ?? "");
    const place = mark?.done === true ? undefined : acquireHold(this.#sessions, session, take);
    if (place?.isHeld === false) {
      return { ...emptyView(), place };
    }
    return { ...this.#viewOf(session, options), ...(place && { place }) };
  }

  #viewOf(session: SessionRef, options: ReadViewOptions): SessionView {
    const stored = this.#sessions.readable(session);
    return { ...(stored ? viewOf(stored) : emptyView()), ...lookUp(stored ?? newSession(), options) };
  }

  async close(): Promise<void> {
    this.#sessions.close();
  }
}

/** Changes of stored records of sessions in memory. */
class InMemoryEdits implements SessionEdits {
  readonly #sessions: InMemorySessions;
  readonly #limits: SizeLimits;

  constructor(sessions: InMemorySessions, limits: SizeLimits) {
    this.#sessions = sessions;
    this.#limits = limits;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planAppend(session, request, this.#limits);
    return this.#sessions.call("replaceTail", session, () => appendTo(this.#sessions, { session, request, plan }));
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    const write = { session, request: { records: [], cut: request }, plan: noRecords };
    return this.#sessions.call("rewind", session, () =>
      appendTo(this.#sessions, write) === "stale" ? "stale" : "rewound",
    );
  }

  async rebuild(session: SessionRef, identify: IdentifyRecord): Promise<void> {
    return this.#sessions.call("rebuild", session, () => {
      const stored = this.#sessions.writable("rebuild", session, ["erased", "key"]);
      if (stored !== undefined) {
        reidentify(stored, identify);
        stored.ownership.owner ??= session.owner;
        this.#sessions.keep(session.id, stored, undefined);
      }
    });
  }

  async readKey(session: SessionRef): Promise<SessionKeyState | undefined> {
    return this.#sessions.call("readKey", session, () => {
      const stored = this.#sessions.find(session);
      return stored && { epoch: stored.epoch, stored: stored.key };
    });
  }

  async rewrapKey(session: SessionRef, { was, now }: { readonly was: StoredKey; readonly now: StoredKey }) {
    return this.#sessions.call("rewrapKey", session, () => {
      const stored = this.#sessions.find(session);
      const isSame = stored?.key?.key === was.key && stored.key.dek === was.dek;
      if (isSame) {
        stored.key = now;
      }
      return isSame;
    });
  }
}
