import { report, type MemoryEventHandler } from "../../base/events.js";
import { closed, erased, KeyNeeded, learnKey, refuseFenced, refuseOwner } from "../contract/refusals.js";
import { checkSessionId, keyParts, maxUsageModels } from "../contract/session-ref.js";
import type { SessionRef, ModelUsage, SessionDetails, SessionLabel } from "../contract/session-ref.js";
import type { InMemorySession } from "./session.js";
import { randomToken } from "../../base/ids.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import type { NewRecord } from "../contract/session-writes.js";

/** Options of {@link InMemorySessions}. */
interface InMemorySessionsOptions {
  readonly now: () => number;
  readonly onEvent: MemoryEventHandler | undefined;
}

/** A session that a caller may touch, and the reply to a repeated call. */
interface Admitted<Answer> {
  readonly stored: InMemorySession | undefined;
  readonly answer: Answer | undefined;
}

/** The sessions of a store in memory, with their expiry. All parts of the store work on them. */
export class InMemorySessions {
  readonly #options: InMemorySessionsOptions;
  readonly #sessions = new Map<string, InMemorySession>();
  /** Tombstones of erased sessions: the time at which each expires. */
  readonly #guards = new Map<string, number>();
  readonly #announced = new Set<{ readonly sessionId: string; readonly owners: readonly string[] }>();
  #lastPlace = 0;
  #sweepAt = 1_000;
  #closed = false;

  constructor(options: InMemorySessionsOptions) {
    this.#options = options;
  }

  now(): number {
    return this.#options.now();
  }

  /** Runs a call and reports it, as a round trip to Redis is reported. */
  call<T>(operation: string, { id }: SessionRef, work: () => T): T {
    checkSessionId(id);
    return this.callOfAll(operation, work, id);
  }

  /** As {@link call}, for a call that concerns an owner or all sessions. */
  callOfAll<T>(operation: string, work: () => T, sessionId = ""): T {
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

  find(session: SessionRef): InMemorySession | undefined {
    return this.writable("", session, []);
  }

  /** As {@link find}, for a call that reads texts, which is told of the data key. */
  readable(session: SessionRef): InMemorySession | undefined {
    const stored = this.find(session);
    if (stored?.key !== undefined) {
      learnKey(session, stored.key);
    }
    return stored;
  }

  /** As {@link find}, for a call that writes: applies these checks of the gate. */
  writable(operation: string, session: SessionRef, checks: readonly Check[] = everyCheck): InMemorySession | undefined {
    return this.admit(operation, session, checks).stored;
  }

  /**
   * As {@link writable}, with the reply to a call that repeats one that was carried out, which `repeated` says: it is
   * asked behind the checks that say who may know of the first call, before those that this made fail itself. The order
   * is that of gate.lua: erased, owner, key, epoch, fence; a session in memory is never damaged. The call's own checks
   * follow: position, stale, content.
   *
   * @throws the error of the first check that fails.
   */
  admit<Answer = never>(
    operation: string,
    session: SessionRef,
    checks: readonly Check[],
    repeated?: (stored: InMemorySession | undefined) => Repetition<Answer>,
  ): Admitted<Answer> {
    const { id } = session;
    const entry = this.#sessions.get(id);
    const stored = entry === undefined || this.#expired(entry) ? undefined : entry;
    if (checks.includes("erased") && (this.#guards.get(id) ?? -1) >= this.now()) {
      throw erased(operation, id);
    }
    refuseOwner(session, stored?.ownership.owner);
    if (checks.includes("key")) {
      refuseKey(session, stored);
    }
    const { answer, hold } = repeated?.(stored) ?? { answer: undefined, hold: session.hold };
    if (answer === undefined && checks.includes("hold")) {
      refuseFenced({ id, hold }, stored);
    }
    return { stored, answer };
  }

  /** Removes a session and leaves a tombstone, which refuses writes until it expires; a longer-lived one stays. */
  guard(sessionId: string, guardMs: number): void {
    this.#sessions.delete(sessionId);
    this.#guards.set(sessionId, Math.max(this.#guards.get(sessionId) ?? 0, this.now() + guardMs));
  }

  /** Announces a session that is being created to the owners of its data; returns a function that withdraws it. */
  announce(sessionId: string, owners: readonly string[]): () => void {
    const announced = { sessionId, owners };
    this.#announced.add(announced);
    return () => {
      this.#announced.delete(announced);
    };
  }

  /** The sessions being created that will hold data of an owner. */
  announcedTo(owner: string): string[] {
    return [...this.#announced].flatMap(({ sessionId, owners }) => (owners.includes(owner) ? [sessionId] : []));
  }

  /** All sessions that have not expired. */
  *all(): Generator<[string, InMemorySession]> {
    for (const [sessionId, session] of this.#sessions) {
      if (!this.#expired(session)) {
        yield [sessionId, session];
      }
    }
  }

  /** Stores a session that was written, and sets its expiry if one is given. */
  keep(sessionId: string, session: InMemorySession | undefined, ttlMs: number | undefined): void {
    if (session === undefined) {
      return;
    }
    session.updated = this.now();
    session.created ??= session.updated;
    this.#lastPlace = Math.max(this.#lastPlace + 1, Math.floor(session.updated * 1_000));
    session.ownership.place = this.#lastPlace;
    this.refresh(session, ttlMs);
    this.#sessions.set(sessionId, session);
    if (this.#sessions.size > this.#sweepAt) {
      this.#sweep();
    }
  }

  /** Places a session in lists by the time of its last write instead of in front. */
  placeByTime({ updated = 0, ownership }: InMemorySession): void {
    ownership.place = Math.min(ownership.place, Math.floor(updated * 1_000));
  }

  /** Sets the expiry of a session to this many milliseconds from now; undefined keeps it. */
  refresh(session: InMemorySession | undefined, ttlMs: number | undefined): void {
    if (session !== undefined && ttlMs !== undefined) {
      session.expiresAt = this.now() + ttlMs;
    }
  }

  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }

  /** Removes all sessions and makes all later calls fail with `closed`. */
  close(): void {
    this.#closed = true;
    this.#sessions.clear();
    this.#guards.clear();
  }

  // Expired sessions that are never read again must not fill the memory. Doubling the mark keeps the cost constant.
  #sweep(): void {
    for (const [sessionId, session] of this.#sessions) {
      if (this.#expired(session)) {
        this.#sessions.delete(sessionId);
      }
    }
    this.#guards.forEach((until, sessionId) => until < this.now() && this.#guards.delete(sessionId));
    this.#sweepAt = Math.max(1_000, 2 * this.#sessions.size);
  }

  #expired({ expiresAt }: InMemorySession): boolean {
    return expiresAt !== undefined && this.now() > expiresAt;
  }
}

/** Checks of the gate in their order; the owner is always checked. A hold is checked by its epoch, then its fence. */
type Check = "erased" | "key" | "hold";

/** All checks: those of a write. */
export const everyCheck: readonly Check[] = ["erased", "key", "hold"];

function refuseKey({ id, keys }: SessionRef, stored: InMemorySession | undefined): void {
  const key = stored?.key;
  const isOther = key === undefined ? keys?.made === undefined : keys?.name !== keyParts(key).name;
  if (isOther && (key ?? keys?.name) !== undefined) {
    throw new KeyNeeded(id, key);
  }
}

/** The gate's input about a call that may repeat one whose reply was lost. */
export interface Repetition<Answer> {
  /** The reply to the repetition; undefined where the call is not one. */
  readonly answer?: Answer;
  /** The hold that the remaining checks compare. */
  readonly hold?: SessionRef["hold"];
}

/** Owner and label of a session. */
export interface InMemoryOwnership {
  owner: string | undefined;
  label: SessionLabel;
  labelVersion: string;
  /** Its score in lists: the microsecond of its last write. */
  place: number;
  readonly usage: Map<string, ModelUsage>;
}

/** The ownership of a new session. */
export function newOwnership(): InMemoryOwnership {
  return { owner: undefined, label: {}, labelVersion: "", place: 0, usage: new Map() };
}

/** Sets the writer as owner of a session without one, and the request's label for a session that never had one. */
export function claimSession({ ownership }: InMemorySession, { owner, label }: SessionRef): void {
  ownership.owner ??= owner;
  if (label !== undefined && ownership.labelVersion === "") {
    setLabel(ownership, label);
  }
}

/** Replaces a session's label. */
export function setLabel(ownership: InMemoryOwnership, label: SessionLabel): void {
  ownership.label = withoutUndefined(label);
  ownership.labelVersion = randomToken();
}

/** Adds the usage of new records to the totals of their models. */
export function countUsage({ ownership }: InMemorySession, fresh: readonly NewRecord[]): void {
  const { usage } = ownership;
  for (const { usage: added } of fresh) {
    if (added !== undefined) {
      const model = usage.has(added.model) || usage.size < maxUsageModels ? added.model : "other";
      const { input = 0, output = 0, total = 0 } = usage.get(model) ?? {};
      usage.set(model, {
        model,
        input: bounded(input + added.input),
        output: bounded(output + added.output),
        total: bounded(total + added.total),
      });
    }
  }
}

/** The details of a session. */
export function detailsOf(sessionId: string, session: InMemorySession): SessionDetails {
  const { owner, label, labelVersion, usage } = session.ownership;
  const { created: createdAt = 0, updated: updatedAt = createdAt } = session;
  const { log, rounds, total, key, expiresAt } = session;
  return withoutUndefined<EachOf<SessionDetails>>({
    ...{ sessionId, owner, label, labelVersion, createdAt, updatedAt, expiresAt, key },
    ...{ messages: log.length, rounds, tokens: total?.tokens, usage: usage.size > 0 ? [...usage.values()] : undefined },
  });
}

function bounded(amount: number): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}
