import { pageBounds, statsOf, checkCreated, textFields } from "../contract/session-data.js";
import type {
  SessionData,
  StoredPage,
  StoredPageRequest,
  StoredStats,
  CopiedRecord,
  CopyPage,
  CreatedSession,
  CreateRequest,
  KnownMarks,
  MarksRequest,
  NewState,
  ReplaceRequest,
  SessionCopies,
  WholeState,
} from "../contract/session-data.js";
import type { HeldTicket, HoldPlace, HoldRequest } from "../contract/session-reads.js";
import { randomToken } from "../../base/ids.js";
import type { SessionRef } from "../contract/session-ref.js";
import { sideWithPrefix, type SideWrite, anyDigest } from "../contract/session-writes.js";
import { noRecords, beginsRound } from "../contract/append-decision.js";
import { appendTo } from "./append.js";
import { isUntouched, keepAlive, acquireHold, newSession, nextPosition, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import { alreadyExists } from "../contract/refusals.js";

/** In-memory data of sessions beside their logs. */
export class InMemorySessionData implements SessionData {
  readonly #sessions: InMemorySessions;
  /** Times in milliseconds since 1970. */
  readonly #leases = new Map<string, { readonly token: string; readonly expiresAt: number }>();

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    return this.#sessions.call("readSide", session, () => {
      return sideWithPrefix(this.#sessions.readable(session)?.side ?? [], prefix);
    });
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    const write = { session, request: { records: [], side: changes, ttlMs: changes.ttlMs }, plan: noRecords };
    return this.#sessions.call("writeSide", session, () => appendTo(this.#sessions, write) !== "stale");
  }

  async readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    return this.#sessions.call("readPage", session, () => {
      return screenPageOf(this.#sessions.readable(session) ?? newSession(), request);
    });
  }

  async readStats(session: SessionRef): Promise<StoredStats | undefined> {
    return this.#sessions.call("readStats", session, () => {
      const stored = this.#sessions.find(session);
      return stored && statsOf(stateOf(stored));
    });
  }

  async acquireHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace> {
    return this.#sessions.call("acquireHold", session, () => acquireHold(this.#sessions, session, request));
  }

  async renewHold({ id }: SessionRef, held: HeldTicket): Promise<boolean> {
    return this.#sessions.call("renewHold", { id }, () => {
      const stored = this.#sessions.find({ id });
      const holder = stored?.queue.holder;
      if (stored === undefined || holder?.ticket !== held.ticket) {
        return false;
      }
      stored.queue.holder = { ...holder, endsAt: this.#sessions.now() + held.holdMs };
      keepAlive(this.#sessions, stored, held);
      return true;
    });
  }

  async releaseHold({ id }: SessionRef, ticket: string): Promise<void> {
    return this.#sessions.call("releaseHold", { id }, () => {
      const stored = this.#sessions.find({ id });
      stored?.queue.waiters.delete(ticket);
      if (stored?.queue.holder?.ticket === ticket) {
        stored.queue.holder = undefined;
        if (stored.queue.waiters.size === 0 && isUntouched(stored)) {
          this.#sessions.delete(id);
        }
      }
    });
  }

  async acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    return this.#sessions.call("acquireLease", session, () => {
      const now = this.#sessions.now();
      if ((this.#leases.get(session.id)?.expiresAt ?? -1) >= now) {
        return undefined;
      }
      const token = randomToken();
      this.#leases.set(session.id, { token, expiresAt: now + ttlMs });
      return token;
    });
  }

  async releaseLease(session: SessionRef, token: string): Promise<void> {
    return this.#sessions.call("releaseLease", session, () => {
      if (this.#leases.get(session.id)?.token === token) {
        this.#leases.delete(session.id);
      }
    });
  }

  async extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    return this.#sessions.call("extendExpiry", session, () => {
      const stored = this.#sessions.find(session);
      const isMortal = stored?.expiresAt !== undefined;
      this.#sessions.refresh(isMortal ? stored : undefined, ttlMs);
      return isMortal;
    });
  }
}

function screenPageOf(session: InMemorySession, request: StoredPageRequest): StoredPage | undefined {
  const { epoch, rev, base, start, rounds, log, head } = session;
  const isNew = session.created === undefined;
  const next = nextPosition(session);
  const id = request.around ?? request.since;
  const position = id === undefined ? undefined : (session.ids.get(id)?.position ?? -1);
  if (position !== undefined && (position < base || position >= next)) {
    return undefined;
  }
  const { from, to } = pageBounds(request, { base, next, position });
  const records = log.slice(from - base, to - base);
  return {
    epoch: isNew ? "" : epoch,
    rev: isNew ? "" : rev,
    records,
    from,
    to,
    base,
    start,
    next,
    rounds,
    head: from < start ? head : "",
    damaged: false,
  };
}

/** Snapshots of whole sessions in memory. */
export class InMemoryCopies implements SessionCopies {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async read(session: SessionRef): Promise<WholeState | undefined> {
    return this.#sessions.call("readCopy", session, () => {
      const stored = this.#sessions.readable(session);
      return stored && stateOf(stored);
    });
  }

  async readMarks(session: SessionRef, { turns = [], ids = [] }: MarksRequest): Promise<KnownMarks> {
    return this.#sessions.call("readMarks", session, () => {
      const stored = this.#sessions.find(session);
      return {
        turns: turns.map((name) => stored?.turns.get(name)),
        digests: ids.map((id) => stored?.ids.get(id)?.digest),
      };
    });
  }

  async create(session: SessionRef, request: CreateRequest): Promise<CreatedSession | undefined> {
    const { id, keys } = session;
    this.#refuseTaken(id);
    const { base } = request;
    const pages: CopyPage[] = [];
    for await (const page of request.pages()) {
      pages.push(page);
    }
    const records = pages.flatMap((page) => page.records);
    // An erasure before the state is read also erases the source; a later one finds the announcement.
    const forget = this.#sessions.announce(id, request.owners ?? []);
    try {
      const state = await request.finish(base + records.length);
      if (state === undefined) {
        return undefined;
      }
      checkCreated(state, { base, next: base + records.length });
      return this.#sessions.call("createCopy", { id }, () => {
        this.#refuseTaken(id);
        const created = { ...sessionFrom(state, { base, records, pages }), key: keys?.made };
        this.#keep(id, created, { state, ttlMs: request.ttlMs });
        return { epoch: created.epoch, next: nextPosition(created) };
      });
    } finally {
      forget();
    }
  }

  async replace(session: SessionRef, { was, now, key, pages }: ReplaceRequest): Promise<"replaced" | "stale"> {
    const records: CopiedRecord[] = [];
    for await (const page of pages()) {
      records.push(...page.records);
    }
    return this.#sessions.call("replaceSession", session, () => {
      const stored = this.#sessions.writable("replaceSession", session, ["erased", "key"]);
      const isSame = stored !== undefined && asCompared(stateOf(stored)) === asCompared(was);
      if (!isSame || was.base + records.length !== was.next) {
        return "stale";
      }
      stored.log = records.map(({ record }) => record);
      for (const [id, { position }] of stored.ids) {
        const digest = records[position - was.base]?.identity?.digest ?? anyDigest;
        stored.ids.set(id, { digest, position });
      }
      Object.entries(now.side).forEach(([name, text]) => stored.side.set(name, text));
      Object.assign(stored, { head: now.head, key });
      stored.ownership.label = now.label;
      return "replaced";
    });
  }

  #keep(
    id: string,
    session: InMemorySession,
    { state, ttlMs }: { readonly state: NewState; readonly ttlMs: number | undefined },
  ): void {
    this.#sessions.keep(id, session, undefined);
    session.expiresAt = state.expiresAt;
    this.#sessions.refresh(session, ttlMs);
    session.created = state.createdAt ?? session.created;
    if (state.updatedAt !== undefined) {
      session.updated = state.updatedAt;
      this.#sessions.placeByTime(session);
    }
  }

  #refuseTaken(id: string): void {
    if (this.#sessions.writable("createCopy", { id }, ["erased"]) !== undefined) {
      throw alreadyExists(id);
    }
  }
}

/** Ends and texts, which a copy compares before it takes the place of its session. */
function asCompared(state: WholeState): string {
  const { epoch, cut, base, next } = state;
  return JSON.stringify([epoch, cut, base, next, textFields(state)]);
}

/** The state of a session. */
function stateOf(session: InMemorySession): WholeState {
  const { epoch, cut, base, start, rounds, head, headCount, reductions, reduced, side } = session;
  const { total, created, updated, expiresAt, ownership, key } = session;
  const { owner, label, labelVersion, usage } = ownership;
  return withoutUndefined<EachOf<Omit<WholeState, "sum">>>({
    ...{ epoch, cut, base, start, rounds, head, headCount, owner, label, reduced, damaged: false },
    ...{ next: nextPosition(session), messages: session.log.length },
    ...{ hasLabel: labelVersion !== "", isSealed: key !== undefined },
    ...{ reductions: [...reductions], side: sideWithPrefix(side, "") },
    ...{ tokens: total?.tokens, counter: total?.tokens === undefined ? undefined : total.counter },
    usage: usage.size > 0 ? [...usage.values()] : undefined,
    ...{ createdAt: created, updatedAt: updated, expiresAt },
  });
}

interface Content {
  readonly base: number;
  readonly records: readonly CopiedRecord[];
  readonly pages: readonly CopyPage[];
}

function sessionFrom(state: NewState, { base, records, pages }: Content): InMemorySession {
  const session = newSession();
  const { start, head, headCount, tokens, counter, reduced } = state;
  const rounds = state.rounds ?? records.filter(({ record }) => beginsRound(record)).length;
  Object.assign(session, { base, start, rounds, head, headCount, reduced });
  session.reductions.push(...state.reductions);
  Object.entries(state.side).forEach(([name, text]) => session.side.set(name, text));
  session.total = base + records.length === 0 ? undefined : { tokens, counter: tokens === undefined ? "" : counter! };
  session.ownership.owner = state.owner;
  session.ownership.label = state.label;
  session.ownership.labelVersion = state.hasLabel ? randomToken() : "";
  (state.usage ?? []).forEach((sum) => session.ownership.usage.set(sum.model, sum));
  records.forEach((record, index) => addRecord(session, record, base + index));
  markTurns(session, pages);
  for (const { id, digest } of state.knownIds ?? []) {
    session.ids.set(id, session.ids.get(id) ?? { digest, position: -1 });
  }
  return session;
}

function addRecord({ log, ids }: InMemorySession, { record, identity }: CopiedRecord, position: number): void {
  log.push(record);
  if (identity !== undefined && !ids.has(identity.id)) {
    ids.set(identity.id, { digest: identity.digest, position });
  }
}

function markTurns({ turns: marks }: InMemorySession, pages: readonly CopyPage[]): void {
  const sums = new Map<string, { readonly count: number; readonly first: number }>();
  for (const { name, count, first, doneAt } of pages.flatMap(({ turns }) => turns)) {
    const before = sums.get(name) ?? { count: 0, first };
    const sum = { count: before.count + count, first: before.first };
    sums.set(name, sum);
    marks.set(name, { done: sum.count === doneAt, ...sum });
  }
}
