import * as z from "zod/mini";
import { maxTries } from "../../base/bounds.js";
import type {
  CopiedRecord,
  CopiedTurn,
  CopyPage,
  CreatedSession,
  NewState,
  WholeState,
} from "../../store/contract/session-data.js";
import { anyDigest } from "../../store/contract/session-writes.js";
import {
  alreadyExists,
  damaged,
  keptChanging,
  positionConflict,
  refuseDiscarded,
} from "../../store/contract/refusals.js";
import { checkSessionId, type SessionRef } from "../../store/contract/session-ref.js";
import { logPages } from "./read-log.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions } from "../../base/options.js";
import { identifyRecord } from "../../store/codec/stored-record.js";
import { headIds } from "../session/screen-pages.js";
import type { SessionOfMemory } from "../session/memory-context.js";
import { withOwnerMark } from "../../store/contract/append-decision.js";

/** Source, range and target of a copy. Tokens of the view, fences, reductions and usage are not copied. */
export interface CopyRequest {
  readonly session: SessionRef;
  /** The new session: its id, and the owner and label that replace the source's. */
  readonly target: SessionRef;
  /** Copies the records before this position. @default all */
  readonly at?: number;
  /** All keys of the new session expire this many milliseconds from now. @default never */
  readonly ttlMs?: number;
  /** Returns the copy of a record, and its identity; without one for a record that cannot be read. */
  copyRecord(record: string, position: number): CopiedRecord;
  /** Returns the ids of the messages in a head: those whose records were discarded are known to the copy too. */
  identifyHead?(head: string): readonly string[];
}

/**
 * Copies the records before a position, with their index and state, into a new session: a fork, the same for every
 * store. `undefined` if the source does not exist.
 *
 * The copy is a consistent snapshot: it starts again if records are removed from the source meanwhile; reductions and
 * new records do not affect it. The source is checked once more after the copy is announced to both owners, so that no
 * copy survives an erasure of its source.
 *
 * @throws ConflictError `other_owner` (the source is another owner's), `exists` (the new id is in use), `position`
 * (`at` is behind the end, or among discarded messages), `stale` (others kept removing records); StoreError `damaged`,
 * and `erased` if the new id was erased a short time ago.
 */
export async function copySession(store: SessionStore, request: CopyRequest): Promise<CreatedSession | undefined> {
  checkCopy(request);
  const { session, target, ttlMs } = request;
  for (let tries = 1; tries <= maxTries.edit; tries += 1) {
    const source = await store.copies.read(session);
    if (source === undefined) {
      return undefined;
    }
    refuseUnread(request, source);
    refuseUncopied(request, source);
    const copy = new SessionCopy(store, request, source);
    const owner = target.owner ?? source.owner;
    const created = await store.copies.create(owner === undefined ? target : { ...target, owner }, {
      base: copy.base,
      owners: [source.owner, target.owner].filter((owner) => owner !== undefined),
      pages: () => copy.pages(),
      finish: (next) => copy.finish(next),
      ...(ttlMs !== undefined && { ttlMs }),
    });
    if (created !== undefined) {
      return created;
    }
  }
  throw keptChanging("fork", session.id);
}

function checkCopy({ session, target }: CopyRequest): void {
  checkSessionId(session.id);
  checkSessionId(target.id);
  if (session.id === target.id) {
    throw alreadyExists(target.id);
  }
}

function refuseUncopied({ session: { id }, at }: CopyRequest, source: WholeState): void {
  if ((at ?? 0) > source.next) {
    throw positionConflict(id, at!, source.next);
  }
  refuseDiscarded(id, at, source);
}

function refuseUnread({ session: { id } }: CopyRequest, source: WholeState): void {
  if (source.damaged) {
    throw damaged("fork", id);
  }
}

/** A copy under way, with its source as first read. */
class SessionCopy {
  readonly #store: SessionStore;
  readonly #request: CopyRequest;
  readonly #source: WholeState;
  /** False for a copy that ends before the first remaining record, and so contains nothing of the log. */
  readonly #hasLog: boolean;

  constructor(store: SessionStore, request: CopyRequest, source: WholeState) {
    this.#store = store;
    this.#request = request;
    this.#source = source;
    this.#hasLog = source.next > 0 && (request.at ?? source.next) >= source.base && request.at !== 0;
  }

  get base(): number {
    return this.#hasLog ? this.#source.base : 0;
  }

  /** The records; ends early if they were removed, or are of another log. */
  async *pages(): AsyncGenerator<CopyPage> {
    const { session, copyRecord } = this.#request;
    let first = this.base;
    for await (const page of logPages(this.#store, session, { from: first, end: this.#end })) {
      const from = first;
      const records = page.map((record, index) => copyRecord(record, from + index));
      yield { records, turns: await this.#turnsOf(records, from) };
      first += records.length;
    }
  }

  /** State of the copy; undefined if the source has changed. */
  async finish(next: number): Promise<NewState | undefined> {
    const { session } = this.#request;
    const state = await this.#store.copies.read(session);
    const { epoch, cut, owner } = this.#source;
    const isSame = state !== undefined && state.epoch === epoch && state.cut === cut && state.owner === owner;
    if (!isSame || next < this.#end) {
      return undefined;
    }
    refuseUnread(this.#request, state);
    const rest = { ...this.#named(state), side: state.side, reductions: [], reduced: 0 };
    const empty = { start: 0, head: "", headCount: 0 };
    return this.#hasLog ? { ...rest, ...(await this.#viewOf(state, next)) } : { ...rest, ...empty };
  }

  get #end(): number {
    return this.#hasLog ? (this.#request.at ?? this.#source.next) : 0;
  }

  /** The turns of a page; a turn that is copied in part is open. */
  async #turnsOf(records: readonly CopiedRecord[], from: number): Promise<CopiedTurn[]> {
    const turns = turnsOf(records, from);
    const names = [...turns.keys()];
    const { turns: marks } = await this.#store.copies.readMarks(this.#request.session, { turns: names });
    return names.map((name, index) => {
      const mark = marks[index];
      return { name, ...turns.get(name)!, ...(mark?.done === true && { doneAt: mark.count }) };
    });
  }

  /** Owner and label of the copy: the target's, else the source's. */
  #named(state: WholeState): Pick<NewState, "owner" | "label" | "hasLabel"> {
    const { owner = state.owner, label } = this.#request.target;
    return {
      ...(owner !== undefined && { owner }),
      label: { ...state.label, ...label },
      hasLabel: state.hasLabel || label !== undefined,
    };
  }

  /** The source's view as far as it is copied, and the ids of its head's messages whose records were discarded. */
  async #viewOf(state: WholeState, next: number) {
    const isWhole = state.start > next;
    const hasHead = !isWhole && state.head !== "";
    const ids = hasHead ? await this.#knownIn(state) : [];
    return {
      start: isWhole ? this.base : state.start,
      head: hasHead ? state.head : "",
      headCount: hasHead ? state.headCount : 0,
      knownIds: state.isSealed ? ids.map((id) => ({ ...id, digest: anyDigest })) : ids,
    };
  }

  /** Messages of the head whose records were discarded, but which the source still recognizes. */
  async #knownIn({ head }: WholeState) {
    const ids = this.base === 0 ? [] : (this.#request.identifyHead?.(head) ?? []);
    const { digests } = await this.#store.copies.readMarks(this.#request.session, { ids });
    return ids.flatMap((id, index) => (digests[index] === undefined ? [] : [{ id, digest: digests[index] }]));
  }
}

/** The turns of records, with the number of those and the position of the first. */
export function turnsOf(records: readonly Pick<CopiedRecord, "identity">[], from: number) {
  const turns = new Map<string, { readonly count: number; readonly first: number }>();
  records.forEach(({ identity }, index) => {
    const name = identity?.turn?.name;
    if (name !== undefined) {
      const { count = 0, first = from + index } = turns.get(name) ?? {};
      turns.set(name, { count: count + 1, first });
    }
  });
  return turns;
}

/** Range of a fork, and owner of the new session. */
export interface ForkOptions {
  /**
   * Number of messages to copy, counted from the first that was ever stored: the position of the first message that the
   * copy does not hold. 0 copies no messages. Refused where `retention` has discarded messages behind it. @default all
   */
  readonly at?: number;
  /** The new session's owner. @default the source's */
  readonly owner?: string;
  /** The new session's title. @default the source's */
  readonly title?: string;
}

const schema = lazy(() =>
  z.strictObject({
    at: z.optional(nonNegativeInteger()),
    owner: z.optional(nonEmptyText()),
    title: z.optional(nonEmptyText()),
  }),
);

/**
 * Copies a session under a new id.
 *
 * @throws ConfigurationError; ConflictError `exists`, `unknown_session`, `position` or `stale`; StoreError.
 */
export async function forkSession(
  { sessionId, ref, context }: SessionOfMemory,
  newSessionId: string,
  options: ForkOptions,
): Promise<void> {
  const { at, owner, title } = parseOptions("fork", schema(), options);
  if (typeof newSessionId !== "string" || newSessionId === "") {
    throw new ConfigurationError("newSessionId", "fork: the new session's id must be a non-empty string.");
  }
  const target: SessionRef = {
    id: newSessionId,
    ...(owner !== undefined && { owner }),
    ...(title !== undefined && { label: { title } }),
  };
  const forked = await copySession(context.store, {
    session: ref,
    target,
    ...(at !== undefined && { at }),
    ...(context.ttlMs !== undefined && { ttlMs: context.ttlMs }),
    identifyHead: headIds,
    copyRecord: (record) => ({
      record: owner === undefined ? record : withOwnerMark(record, owner),
      identity: identifyRecord(record),
    }),
  });
  if (forked === undefined) {
    const message = "fork(): there is no session to copy; it was never written to, cleared, or has expired.";
    throw new ConflictError(message, { code: "unknown_session", sessionId });
  }
}
