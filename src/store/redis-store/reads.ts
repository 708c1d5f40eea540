import type { SessionKeys } from "../redis/keys.js";
import { viewFields } from "../redis/stored-fields.js";
import { emptyView, type SessionView } from "../contract/session-reads.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { ScriptRunner, Command } from "../redis/script-runner.js";
import type { CallName } from "../redis/errors.js";
import { learnKey, refuseOwner } from "../contract/refusals.js";

/** A read of the log from an index on. */
export interface Read {
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
  const isGone = typeof fields[nextIndex] !== "string" && typeof fields[ownerIndex] !== "string";
  return isGone && (records.length > 0 || ids > 0);
}

/** A view as read from Redis: fields of `state`, records of the log from an index on, and the number of ids. */
export interface ViewReply {
  readonly fields: readonly (string | null)[];
  readonly records: readonly string[];
  readonly ids: number;
  readonly index: number;
  /** Values of the requested fields of `ids`. */
  readonly lookups: readonly (string | null)[];
}

/** Converts a reply of `view` in view.lua. */
export function viewReply(reply: unknown, lookups: unknown = []): ViewReply {
  const [fields, records, ids, index] = reply as [(string | null)[], string[], unknown, unknown];
  return { fields, records, ids: Number(ids), index: Number(index), lookups: lookups as (string | null)[] };
}

/** Owner and data key of a session, by which its callers are checked. */
export interface StoredAccess {
  readonly owner: string | null | undefined;
  readonly key: string | null | undefined;
  readonly dek: string | null | undefined;
}

/** The same of the fields of a view. */
export function accessIn(fields: ViewReply["fields"]): StoredAccess {
  return { owner: fields[ownerIndex], key: fields[keyIndex], dek: fields[keyIndex + 1] };
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

const nextIndex = viewFields.indexOf("next");
const ownerIndex = viewFields.indexOf("owner");
const erasedIndex = viewFields.indexOf("erased");
const keyIndex = viewFields.indexOf("key");

function stateFrom(fields: readonly (string | null | undefined)[]) {
  const [epochText, revText, baseText, startText, nextText, headText, countText, tokensText, counterText] = fields;
  const [base, start, next] = [wholeFrom(baseText), wholeFrom(startText), wholeFrom(nextText)];
  const [headCount, tokens] = [wholeFrom(countText), amountFrom(tokensText)];
  return {
    isErased: typeof fields[erasedIndex] === "string",
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
export function amountFrom(text: string | null | undefined): number | undefined {
  if (text === null || text === undefined) {
    return undefined;
  }
  const number = /^\d[\d.e+-]*$/.test(text) ? Number(text) : NaN;
  return number < Infinity ? number : NaN;
}
