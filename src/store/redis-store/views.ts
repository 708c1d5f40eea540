import { BoundedMap } from "../../base/bounds.js";
import { viewFields } from "../redis/stored-fields.js";
import { logSum, sumBehind, sumFrom, type SessionKeys } from "../redis/keys.js";
import { learnKey, refuseOwner } from "../contract/refusals.js";
import { keptRecords, type KeptRecords, emptyView, type SessionView } from "../contract/session-reads.js";
import type { AppendPlan } from "../contract/append-decision.js";
import type { CommitRequest } from "../contract/session-writes.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { ScriptRunner, Command } from "../redis/script-runner.js";
import type { CallName } from "../redis/errors.js";

/** A view as it was read, or as this process left it: never changed, only replaced. */
export interface KeptView {
  /** With at least one record; without the tokens, which each reply says. */
  readonly view: SessionView;
  /** Checksum of the log up to its end. */
  readonly sum: number;
  readonly kept: KeptRecords;
  readonly bytes: number;
}

/** A view, what its reply says besides, and the kept view that the reply continues. */
export interface ReadView {
  readonly view: SessionView;
  readonly access: StoredAccess;
  /** Checksum of the log; undefined if the session lost it. */
  readonly sum: number | undefined;
  /** Values of the requested fields of `ids`. */
  readonly lookups: ViewReply["lookups"];
  readonly keptView?: KeptView;
}

/** An append of this process. */
export interface OwnAppend {
  readonly plan: Pick<AppendPlan, "records">;
  /** Position that the first record was to get. */
  readonly at: number;
  readonly texts: readonly string[];
  /** Checksum of these records alone. */
  readonly sum: number;
  /** Epoch for a session that the append began. */
  readonly epoch: string;
  /** The view that was kept when it was sent. */
  readonly keptView: KeptView | undefined;
}

/** Bytes counted for a record besides its text. */
const bytesOfRecord = 400;
/** Bytes counted for a character: twice two, for the record's text and for what was parsed of it. */
const bytesOfCharacter = 4;

/** Places of fields of `state` in what a read gives. */
const placeOf = (name: (typeof viewFields)[number]): number => viewFields.indexOf(name);
const [epochAt, baseAt, nextAt, sumAt] = [placeOf("epoch"), placeOf("base"), placeOf("next"), placeOf("sum")];
const [ownerAt, erasedAt, keyAt] = [placeOf("owner"), placeOf("erased"), placeOf("key")];

/**
 * The views that this process read or wrote, up to a number of bytes; those that changed longest ago leave first.
 *
 * A read names the kept view, and the script says that it is still the session's, or what is behind its last record. It
 * is the log's if epoch and base are the same, and the checksum in the reply is the kept one extended by the records
 * behind it. docs/decisions/19-kept-views-by-checksum.md proves it.
 */
export class KeptViews {
  readonly #capacity: number;
  readonly #views: BoundedMap<string, KeptView>;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#views = new BoundedMap(capacity, ({ bytes }) => bytes);
  }

  /** Bytes of all that is kept, as they are counted: an upper bound for text, a fair guess for its parsed form. */
  get bytes(): number {
    return this.#views.weight;
  }

  /** Returns the view of a session; `isLent` to a reader. */
  get(sessionId: string, isLent = false): KeptView | undefined {
    const view = this.#views.get(sessionId);
    if (view?.kept.isRefused === true) {
      this.delete(sessionId);
      return undefined;
    }
    if (isLent && view !== undefined) {
      view.kept.isLent = true;
    }
    return view;
  }

  /**
   * Returns the view behind an append of this process that ended where the view ended that was kept, or that began the
   * session, and keeps it: the next read need not ask for it. The log before it may have changed meanwhile; the
   * checksum of the next reply tells. It gets the lists of the one before, unless a reader or a longer view has these.
   */
  extend(sessionId: string, epoch: string, append: OwnAppend): KeptView | undefined {
    const { plan, at, texts, sum, epoch: begun, keptView } = append;
    const before = keptView ?? (epoch === begun && at === 0 ? begunView(epoch) : undefined);
    if (before === undefined || texts.length === 0 || before.view.epoch !== epoch || before.view.next !== at) {
      return undefined;
    }
    const isReadOften = at > 0;
    const count = at - before.view.start;
    const isOwn = !before.kept.isLent && before.view.records.length === count;
    const { list, isRefused } = before.kept;
    const records = isOwn ? (before.view.records as string[]) : before.view.records.slice(0, count);
    const kept = isOwn ? before.kept : { list: list.slice(0, count), isRefused, isLent: false };
    for (const [index, { opened }] of plan.records.entries()) {
      records.push(texts[index]!);
      kept.list.push({ made: undefined, isReadOften, opened: opened && { made: undefined, isReadOften, ...opened } });
    }
    const extended = {
      view: { ...before.view, next: at + texts.length, records },
      sum: sumBehind(before.sum, { count: texts.length, sum }),
      kept,
      bytes: before.bytes + bytesOf(texts),
    };
    if (this.#views.get(sessionId) === keptView) {
      this.#set(sessionId, extended);
    }
    return extended;
  }

  /** Keeps a view that this process reduced: the log's end, and so the checksum, are as they were. */
  reduce(sessionId: string, rev: string, { epoch, rev: read, start, head, headCount, discard }: CommitRequest): void {
    const keptView = this.get(sessionId);
    if (keptView?.view.rev === read && keptView.view.epoch === epoch && start >= keptView.view.start) {
      const base = discard === true ? start : keptView.view.base;
      const records = keptView.view.records.slice(start - keptView.view.start);
      this.keep(sessionId, {
        view: { ...keptView.view, rev, base, start, head, headCount, records },
        sum: keptView.sum,
        keptView,
      });
    }
  }

  /** Keeps a view that was read. Forgets the session if it cannot be kept. */
  keep(sessionId: string, { view, sum, keptView }: Pick<ReadView, "view" | "sum" | "keptView">): void {
    if (view.records === keptView?.view.records && view.rev === keptView.view.rev) {
      keptView.kept.isLent = true;
      return;
    }
    const { epoch, start, next, records, damaged } = view;
    const isWhole = !damaged && epoch !== "" && records.length > 0 && records.length === next - start;
    const bytes = bytesOf(records);
    if (!isWhole || sum === undefined || bytes > this.#capacity) {
      this.delete(sessionId);
      return;
    }
    const list = keptView?.kept.list.slice(start - keptView.view.start) ?? [];
    while (list.length < records.length) {
      list.push({ made: undefined, isReadOften: keptView !== undefined });
    }
    const kept = { list, isRefused: false, isLent: true };
    this.#set(sessionId, { view: { ...view, tokens: undefined, counter: "" }, sum, kept, bytes });
  }

  delete(sessionId: string): void {
    this.#views.delete(sessionId);
  }

  #set(sessionId: string, view: KeptView): void {
    keptRecords.set(view.view.records, view.kept);
    this.#views.set(sessionId, view);
  }
}

/** Reply of a script for a view, and for fields of `ids`. */
export interface Shown {
  readonly shown: unknown;
  readonly lookups?: unknown;
}

/** How a script is asked for what is behind a kept view, see kept-view.lua. */
export function keptTexts(keptView: KeptView | undefined): (string | number)[] {
  if (keptView === undefined) {
    return ["", "", "", ""];
  }
  const { epoch, rev, base, next, start } = keptView.view;
  return [rev, keptView.sum, next - base, `${epoch} ${base} ${next} ${start}`];
}

/** The view in a reply of kept-view.lua; undefined if it should continue the kept one and does not: then read all. */
export function viewBehind(keptView: KeptView | undefined, { shown, lookups }: Shown): ReadView | undefined {
  const values = (Array.isArray(shown) ? shown : []) as (string | null)[];
  if (keptView !== undefined && !Array.isArray(values[0])) {
    return unchanged(keptView, values, lookups as ViewReply["lookups"]);
  }
  const reply = viewReply(shown, lookups);
  const continued = keptView && continuedReply(keptView, reply);
  const view = viewFrom(continued ?? reply) ?? (keptView === undefined ? viewFrom({ ...reply, index: 0 }) : undefined);
  return view && { ...readOf(reply, view), ...(continued && { keptView: keptView! }) };
}

/** A view and what its reply says besides. */
export function readOf({ fields, lookups }: ViewReply, view: SessionView): ReadView {
  return { view, access: accessIn(fields), sum: sumFrom(fields[sumAt]), lookups };
}

function unchanged(
  keptView: KeptView,
  [owner, tokenText, counter, key, dek]: readonly (string | null)[],
  lookups: ViewReply["lookups"] = [],
): ReadView | undefined {
  const tokens = amountFrom(tokenText);
  const view = tokens === undefined && !counter ? keptView.view : { ...keptView.view, tokens, counter: counter ?? "" };
  return Number.isNaN(tokens) ? undefined : { view, access: { owner, key, dek }, sum: keptView.sum, lookups, keptView };
}

/**
 * The reply as it would have been, had all records been asked for: the kept ones and those that came. Undefined if the
 * log is not the one that was read.
 */
function continuedReply(keptView: KeptView, reply: ViewReply): ViewReply | undefined {
  const { fields, records, index } = reply;
  const { epoch, base, start, next, records: texts } = keptView.view;
  const isSame = fields[epochAt] === epoch && Number(fields[baseAt]) === base && index === next - 1 - base;
  if (!isSame || records[0] !== texts[texts.length - 1] || records.length !== Number(fields[nextAt]) - next + 1) {
    return undefined;
  }
  const fresh = records.slice(1);
  return sumFrom(fields[sumAt]) === logSum(fresh, keptView.sum)
    ? { ...reply, records: fresh.length === 0 ? texts : texts.concat(fresh), index: start - base }
    : undefined;
}

/** The view of a session that begins, before its first record. */
function begunView(epoch: string): KeptView {
  const kept = { list: [], isRefused: false, isLent: true };
  return { view: { ...emptyView(), epoch, rev: epoch }, sum: 0, kept, bytes: 0 };
}

function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, { length }) => sum + bytesOfCharacter * length + bytesOfRecord, 0);
}

/** A read of the log from an index on. */
interface Read {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly name: CallName;
  readonly keys: SessionKeys;
  /** Index in the log of the first record to read. */
  readonly index: number;
}

/**
 * Reads the records from the index on, the state, the number of ids and `wanted` fields of `ids`, as one snapshot.
 * Undefined if the state is lost. Native commands in a MULTI: a script that returns a thousand records takes five times
 * as long (Redis 7.0).
 */
export async function readTail(
  { runner, name, keys: { log, ids, state }, index }: Read,
  wanted: readonly string[],
): Promise<ViewReply | undefined> {
  const commands: Command[] = [
    { verb: "hmget", args: [state, ...viewFields] },
    { verb: "lrange", args: [log, index, -1] },
    { verb: "hlen", args: [ids] },
  ];
  if (wanted.length > 0) {
    commands.push({ verb: "hmget", args: [ids, ...wanted] });
  }
  const [fields, records, idCount, lookups] = await runner.transaction(name, commands);
  const reply = viewReply([fields, records, idCount, index], lookups);
  return hasLostState(reply) ? undefined : reply;
}

/** True if a session lost its state but has records or ids: only the gate can identify its owner and its data key. */
function hasLostState({ fields, records, ids }: Pick<ViewReply, "fields" | "records" | "ids">): boolean {
  const isGone = typeof fields[nextAt] !== "string" && typeof fields[ownerAt] !== "string";
  return isGone && (records.length > 0 || ids > 0);
}

/** A view as read from Redis: fields of `state`, records of the log from an index on, and the number of ids. */
interface ViewReply {
  readonly fields: readonly (string | null)[];
  readonly records: readonly string[];
  readonly ids: number;
  readonly index: number;
  /** Values of the requested fields of `ids`. */
  readonly lookups: readonly (string | null)[];
}

/** Converts a reply of `view` in view.lua. */
function viewReply(reply: unknown, lookups: unknown = []): ViewReply {
  const [fields, records, ids, index] = reply as [(string | null)[], string[], unknown, unknown];
  return { fields, records, ids: Number(ids), index: Number(index), lookups: lookups as (string | null)[] };
}

/** Owner and data key of a session, by which its callers are checked. */
interface StoredAccess {
  readonly owner: string | null | undefined;
  readonly key: string | null | undefined;
  readonly dek: string | null | undefined;
}

/** The same of the fields of a view. */
function accessIn(fields: ViewReply["fields"]): StoredAccess {
  return { owner: fields[ownerAt], key: fields[keyAt], dek: fields[keyAt + 1] };
}

/**
 * Returns the view, or undefined if the records begin too late, because the start moved back since this process read it
 * last.
 *
 * The first record has the position base + index; records before the start are dropped. If `state` is missing, or holds
 * side fields only, the view is the whole log.
 */
export function viewFrom({ fields, records, ids, index }: ViewReply): SessionView | undefined {
  const state = stateFrom(fields);
  if (state.isErased) {
    return emptyView();
  }
  const damaged = isDamaged(state, { length: index + records.length, ids });
  if (!state.begun || !state.sound) {
    const { epoch, rev } = state;
    return index > 0 ? undefined : { ...emptyView(), epoch, rev, next: records.length, records, damaged };
  }
  const { epoch, rev, base, start, next, head, headCount, tokens, counter } = state;
  const first = base + index;
  if (first > start) {
    return undefined;
  }
  return {
    epoch,
    rev,
    base,
    start,
    next,
    head,
    headCount,
    tokens,
    counter,
    records: records.slice(start - first),
    damaged,
  };
}

/**
 * True if the numbers of `state` are invalid, or inconsistent with each other, the log or the index of ids, which has a
 * field for each record and one that describes the format. Twin: `loadSession` of load-session.lua.
 */
function isDamaged(
  { begun, sound, epoch, base, next }: ReturnType<typeof stateFrom>,
  { length, ids }: { readonly length: number; readonly ids: number },
): boolean {
  const isWhole = sound && length === (begun ? next - base : 0) && !(begun && epoch === "");
  return !isWhole || (length > 0 && ids <= length);
}

/**
 * Refuses a read of a session of another owner, and one of a session with a data key by a caller that does not encrypt.
 * Returns the session's owner; `""` if it has none.
 *
 * @throws ConflictError `other_owner`; EncryptionError `unknown_key`.
 */
export function checkOwner(session: SessionRef, { owner, key, dek }: StoredAccess): string {
  const stored = owner ?? "";
  if (session.owner !== undefined) {
    refuseOwner(session, stored);
  }
  if (typeof key === "string" && typeof dek === "string") {
    learnKey(session, { key, dek });
  }
  return stored;
}

function stateFrom(fields: readonly (string | null | undefined)[]) {
  const [epochText, revText, baseText, startText, nextText, headText, countText, tokensText, counterText] = fields;
  const [base, start, next] = [wholeFrom(baseText), wholeFrom(startText), wholeFrom(nextText)];
  const [headCount, tokens] = [wholeFrom(countText), amountFrom(tokensText)];
  return {
    isErased: typeof fields[erasedAt] === "string",
    epoch: epochText ?? "",
    rev: revText ?? "",
    base,
    start,
    next,
    headCount,
    tokens,
    head: headText ?? "",
    counter: counterText ?? "",
    begun: nextText !== null && nextText !== undefined,
    /** False if a number cannot be read (then it is NaN), or if they do not fit each other. */
    sound: base <= start && start <= next && !Number.isNaN(headCount) && !Number.isNaN(tokens),
  };
}

/** The number in a field, 0 if it is missing; NaN unless the scripts accept it too. */
function wholeFrom(text: string | null | undefined): number {
  const number = text === null || text === undefined ? 0 : /^\d+$/.test(text) ? Number(text) : NaN;
  return number <= 5e13 ? number : NaN;
}

/** The amount in a field, undefined if it is missing; NaN if it is invalid. */
function amountFrom(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) {
    return undefined;
  }
  const number = /^\d[\d.e+-]*$/.test(text) ? Number(text) : NaN;
  return number < Infinity ? number : NaN;
}
