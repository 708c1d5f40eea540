import {
  checkCreated,
  textFields,
  type CopiedRecord,
  type CopyPage,
  type CreatedSession,
  type CreateRequest,
  type KnownMarks,
  type MarksRequest,
  type NewState,
  type ReplaceRequest,
  type SessionCopies,
  type WholeState,
} from "../contract/copies.js";
import { randomToken } from "../../base/ids.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import { alreadyExists } from "../contract/refusals.js";
import { beginsRound } from "../contract/record-text.js";
import type { SessionRef } from "../contract/session-ref.js";
import { anyDigest } from "../contract/session-writes.js";
import { sideWithPrefix } from "../contract/side-fields.js";
import { newSession, nextPosition, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

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
export function stateOf(session: InMemorySession): WholeState {
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
