import { randomToken } from "../base/ids.js";
import { alreadyExists } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import type { CopiedRecord } from "../store/session-forks.js";
import {
  checkCreate,
  checkCreated,
  type CreatedSession,
  type CreateRequest,
  type KeptState,
  type NamedMark,
  type SessionTransfers,
  type WholeState,
} from "../store/session-transfers.js";
import { sideWithPrefix } from "../store/side-fields.js";
import type { TurnMark } from "../store/turns.js";
import { newSession, nextPosition, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** Whole sessions out of memory and into it. */
export class InMemoryTransfers implements SessionTransfers {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async readState(session: SessionRef): Promise<WholeState | undefined> {
    return this.#sessions.read("readState", session, { found: stateOf, missing: () => undefined });
  }

  async readTurns(session: SessionRef, names: readonly string[]): Promise<readonly (TurnMark | undefined)[]> {
    const found = ({ turns }: InMemorySession) => names.map((name) => turns.marks.get(name));
    return this.#sessions.read("readTurns", session, { found, missing: () => names.map(() => undefined) });
  }

  async create({ id, keys }: SessionRef, request: CreateRequest): Promise<CreatedSession> {
    checkCreate({ id }, request);
    this.#refuseTaken(id);
    const records: CopiedRecord[] = [];
    const marks: NamedMark[] = [];
    for await (const page of request.pages) {
      records.push(...page.records);
      marks.push(...page.marks);
    }
    const { state } = request;
    checkCreated(state, state.base + records.length);
    return this.#sessions.call("create", { id }, () => {
      this.#refuseTaken(id);
      const session = sessionFrom(state, records);
      session.key = keys?.current ?? "";
      marks.forEach(({ name, ...mark }) => session.turns.marks.set(name, mark));
      this.#sessions.keep(id, session, undefined);
      session.created = state.createdAt ?? session.created;
      session.updated = state.updatedAt ?? session.updated;
      session.expiresAt = state.expiresAt;
      this.#sessions.placeByTime(session);
      return { epoch: session.epoch, next: nextPosition(session) };
    });
  }

  #refuseTaken(id: string): void {
    if (this.#sessions.writable("create", { id }, ["erased"]) !== undefined) {
      throw alreadyExists(id);
    }
  }
}

const forgotten: TurnMark = { done: true, count: 0, first: 0 };

function stateOf(session: InMemorySession): WholeState {
  const { epoch, cut, base, start, rounds, head, headCount, reductions, reduced, side, turns } = session;
  const { total, created, updated, expiresAt, ownership, key } = session;
  const { owner, label, labelVersion, usage } = ownership;
  return {
    ...{ epoch, cut, base, start, rounds, head, headCount, label, reduced, damaged: false },
    next: nextPosition(session),
    hasLabel: labelVersion !== "",
    reductions: [...reductions],
    side: sideWithPrefix(side, ""),
    discardedTurns: turns.discarded.map((name) => ({ name, ...(turns.marks.get(name) ?? forgotten) })),
    ...(total?.tokens !== undefined && { tokens: total.tokens, counter: total.counter }),
    ...(owner !== undefined && { owner }),
    ...(key !== "" && { key }),
    ...(usage.size > 0 && { usage: [...usage.values()] }),
    ...(created !== undefined && { createdAt: created }),
    ...(updated !== undefined && { updatedAt: updated }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

function sessionFrom(state: KeptState, records: readonly CopiedRecord[]): InMemorySession {
  const session = newSession();
  const { base, start, rounds, head, headCount, tokens, counter, reduced } = state;
  Object.assign(session, { base, start, rounds, head, headCount, reduced });
  session.reductions.push(...state.reductions);
  Object.entries(state.side).forEach(([name, text]) => session.side.set(name, text));
  session.total = base + records.length === 0 ? undefined : { tokens, counter: tokens === undefined ? "" : counter! };
  session.ownership.owner = state.owner;
  session.ownership.label = state.label;
  session.ownership.labelVersion = state.hasLabel ? randomToken() : "";
  (state.usage ?? []).forEach((sum) => session.ownership.usage.set(sum.model, sum));
  for (const { name, ...mark } of state.discardedTurns) {
    session.turns.discarded.push(name);
    session.turns.marks.set(name, mark);
  }
  records.forEach((record, index) => addRecord(session, record, base + index));
  return session;
}

function addRecord({ log, ids }: InMemorySession, { record, identity }: CopiedRecord, position: number): void {
  log.push(record);
  if (identity !== undefined && !ids.has(identity.id)) {
    ids.set(identity.id, { digest: identity.digest, position });
  }
}
