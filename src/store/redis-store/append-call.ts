import { contentConflict, OtherDigests, positionConflict } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askOf } from "../redis/script-runner.js";
import { idHash, lastHash, sha1 } from "../redis/keys.js";
import { unknownReply } from "../redis/errors.js";
import { beginsRound, type AppendPlan } from "../contract/append-decision.js";
import { randomToken } from "../../base/ids.js";
import type { HoldPlace, SessionView, ReadViewOptions } from "../contract/session-reads.js";
import type { KeptView, OwnAppend } from "./views.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  LogWrite,
  ReplaceTailRequest,
  SideWrite,
  LessenedTurn,
  StoredTurn,
  TurnMark,
} from "../contract/session-writes.js";
import { digestLength } from "../redis/stored-fields.js";

/** Side changes as arguments of the script: the request's part, then pairs to set and fields to remove. */
function sideArguments({ set = {}, remove = [], bound, expected }: Partial<SideWrite> = {}) {
  const pairs = Object.entries(set).flatMap(([name, value]) => [`side:${name}`, value]);
  const removed = remove.filter((name) => !Object.hasOwn(set, name)).map((name) => `side:${name}`);
  // JSON would not hold half of a surrogate pair as the arguments of a command do.
  const expects = Object.entries(expected ?? {}).map(([name, value]) => [
    `side:${name.toWellFormed()}`,
    value === undefined ? "" : sha1(value),
  ]);
  return { request: { sets: pairs.length / 2, bound, expects: expected && expects }, args: [...pairs, ...removed] };
}

/** Token usage of records: number of the record, model, and input, output and total tokens. */
function usageItems(records: AppendPlan["records"]) {
  const items = records.flatMap(({ usage }, index) =>
    usage === undefined ? [] : [[index + 1, usage.model, usage.input, usage.output, usage.total]],
  );
  return items.length === 0 ? undefined : items;
}

/** Further digests of records, by their places. */
function otherDigests(records: AppendPlan["records"]): string[] | undefined {
  const digests = records.map(({ otherDigest = "" }) => otherDigest);
  return digests.some((digest) => digest !== "") ? digests : undefined;
}

/** The records of an append, and the sender's knowledge of the log. */
export interface AppendParts extends OwnAppend {
  readonly plan: AppendPlan;
}

/** The arguments of the append script. */
export function appendArguments(session: SessionRef, request: LogWrite, parts: AppendParts): string[] {
  const { plan, texts, sum, at, keptView, epoch } = parts;
  const side = sideArguments(request.side);
  const tokens = plan.counter === undefined ? undefined : plan.records.map((record) => record.tokens!);
  const identities = plan.records.flatMap(({ id, digest }, index) => [idHash(id), digest + String(at + index)]);
  const rounds = texts.filter(beginsRound).length;
  const total = tokens?.reduce((all, count) => all + count, 0);
  const { viewLimit, take } = request;
  const scriptRequest = {
    keep: request.onConflict === "keep",
    counter: request.counter,
    tokens,
    total,
    expectedNext: request.expectedNext,
    ttl: request.ttlMs,
    maxMessages: viewLimit?.messages,
    maxTokens: viewLimit?.tokens,
    maxFromStart: viewLimit?.fromStart,
    usage: usageItems(plan.records),
    digests: otherDigests(plan.records),
    turn: request.turn,
    take: take && { ...take, ttlMs: undefined },
    release: request.release,
    cut: request.cut && cutRequest(request.cut),
    // Last: fields behind what is spread take V8 longer than all the rest.
    ...{ epoch, count: texts.length, at, rounds, sum, ...side.request },
    ...askOf(session),
  };
  const before = keptView?.view.next === at && request.viewLimit !== undefined ? keptView : undefined;
  const start = plainStart({ session, request, rounds, tokens: total, before, ...parts });
  return [start + JSON.stringify(scriptRequest), ...identities, ...side.args, ...texts];
}

function cutRequest({ epoch, rev, next, lastId, to, forget, turns }: ReplaceTailRequest["cut"]) {
  const changed = { newRev: randomToken(), hashes: hashesOf(forget), losses: lossesOf(turns) };
  return { epoch, rev, next, last: lastHash(lastId), to, ...changed };
}

/** The reply of the append script; expands that of the short path. */
export function fullReply(reply: unknown, { records }: AppendPlan): unknown {
  const [text, view = "", fence, left] = (Array.isArray(reply) ? reply : [reply]) as unknown[];
  const [, next, epoch, owner] = (typeof text === "string" && /^(\d+) (\S+) (.*)$/s.exec(text)) || [];
  if (next === undefined) {
    return reply;
  }
  const full = ["OK", records.length, 0, [], next, epoch, view, owner];
  return fence === undefined ? full : ["TOOK", fence, epoch, left, full];
}

/** A reply of the append script, what it answers, and the view in it. */
interface ReplyParts {
  readonly reply: unknown;
  readonly request: AppendRequest;
  readonly plan: AppendPlan;
}

/** Converts the reply of the append script to a result, or throws the error of a refusal. */
export function appendResult(sessionId: string, { reply, request, plan }: ReplyParts): AppendResult | "stale" {
  const [word = "", ...rest] = (Array.isArray(reply) ? reply : []) as [string?, ...unknown[]];
  if (word === "TURN") {
    return repeatedTurn(rest, plan);
  }
  if (word === "STALE") {
    return "stale";
  }
  if (word === "WAITS") {
    return waitingResult(rest);
  }
  if (word === "DIFFERS") {
    throw new OtherDigests();
  }
  if (word !== "OK") {
    throw refusal(sessionId, [word, rest[0]], { request, plan });
  }
  const [appended, duplicates, places, next, epoch] = rest;
  const others = (places as unknown[]).map((index) => plan.indexes[Number(index)]!);
  const conflicts = [...plan.conflicts, ...others].sort((a, b) => a - b);
  return {
    appended: Number(appended),
    duplicates: plan.duplicates + Number(duplicates),
    conflicts,
    next: Number(next),
    epoch: String(epoch),
  };
}

/** The view in a reply of the append script, as the script returned it. */
export function shownIn(reply: unknown): readonly unknown[] | undefined {
  const [word, ...rest] = (Array.isArray(reply) ? reply : []) as unknown[];
  const shown = word === "OK" ? rest[5] : word === "TURN" ? rest[6] : undefined;
  return Array.isArray(shown) ? (shown as unknown[]) : undefined;
}

/** A hold in a script's reply, and the session's remaining time to live in milliseconds. */
export interface TakenHold {
  readonly place: HoldPlace & { readonly isHeld: true };
  readonly left: number;
}

/** Converts a script's fencing token, epoch and remaining time to live. */
export function takenHold(fence: unknown, epoch: unknown, left: unknown): TakenHold {
  return { place: { isHeld: true, hold: { token: Number(fence), epoch: String(epoch) } }, left: Number(left) };
}

/** Splits a reply of the append script from the hold that was acquired with it. */
export function heldReply(reply: unknown): { readonly reply: unknown; readonly taken?: TakenHold } {
  const [word, fence, epoch, left, inner] = (Array.isArray(reply) ? reply : []) as unknown[];
  return word === "TOOK" ? { reply: inner, taken: takenHold(fence, epoch, left) } : { reply };
}

/** The owner in a reply of the append script; `""` if the session has none. */
export function ownerIn(reply: unknown): unknown {
  return Array.isArray(reply) && reply[0] === "OK" ? reply[7] : undefined;
}

/** The result of an append whose ticket is queued. */
function waitingResult([ahead, next, epoch]: readonly unknown[]): AppendResult {
  const place = { isHeld: false as const, ahead: Number(ahead) };
  return { appended: 0, duplicates: 0, conflicts: [], next: Number(next), epoch: String(epoch), place };
}

/** The result of an append whose claim of a turn did not fit the turn's mark. */
function repeatedTurn(rest: readonly unknown[], { records, duplicates }: AppendPlan): AppendResult {
  const [, , , next, epoch] = rest;
  const counts = { next: Number(next), epoch: String(epoch), turn: turnFrom(rest) };
  return { appended: 0, duplicates: duplicates + records.length, conflicts: [], ...counts };
}

/** The error of an append's own refusals, after the gate. */
function refusal(
  sessionId: string,
  [word, detail]: readonly [word: string, detail: unknown],
  { request, plan }: Pick<ReplyParts, "request" | "plan">,
): Error {
  switch (word) {
    case "POSITION":
      return positionConflict(sessionId, request.expectedNext ?? 0, Number(detail));
    case "CONFLICT":
      return contentConflict(sessionId, plan.records[Number(detail)]?.id ?? "");
    default:
      return unknownReply({ operation: "append", sessionId });
  }
}

/** Maximum number of records for the script's short path; each takes three slots of Lua's stack. */
const mostPlain = 1_000;
/** Largest number that both Lua and JavaScript print without an exponent. */
const mostWhole = 5e13;
/** The parts of a request that the short path knows. */
const plainParts = new Set([
  "records",
  "ttlMs",
  "viewLimit",
  "onConflict",
  "counter",
  "expectedNext",
  "turn",
  "take",
  "release",
]);

/** An append as its script is asked for it. */
interface PlainAppend extends AppendParts {
  readonly session: SessionRef;
  readonly request: AppendRequest;
  /** Rounds that begin. */
  readonly rounds: number;
  /** Tokens of the records, where they are counted. */
  readonly tokens: number | undefined;
  /** The kept view of the log up to `at`: if it is the session's, only its tokens are returned. */
  readonly before: KeptView | undefined;
}

/**
 * The start of a request that the script's short path reads, `plain-append.lua`; empty for a request that it does not
 * know. Each text ends with a zero.
 */
function plainStart(append: PlainAppend): string {
  const { at, rounds, sum, plan, request, before, epoch } = append;
  const { ttlMs, viewLimit } = request;
  const claims = claimsOf(append);
  const texts = [at, at + plan.records.length, rounds, sum, ttlMs, viewLimit?.messages, viewLimit?.fromStart];
  const usage = plan.records.some((record) => record.usage !== undefined);
  const makesClaims = claims.some((claim) => claim !== undefined);
  const log = before && `${before.view.epoch} ${before.sum}`;
  const parts = [...texts, log, before ? before.view.rev : epoch, usage ? 1 : "", makesClaims ? 1 : ""];
  const all = makesClaims ? [...parts, ...claims] : parts;
  return isPlain(append) && !all.some((part) => typeof part === "string" && part.includes("\0"))
    ? all.map((part) => `${part ?? ""}\0`).join("")
    : "";
}

/** Claims and names of a caller, in the order of `plain-claims.lua`. */
function claimsOf({ session, request, tokens }: PlainAppend): (string | number | undefined)[] {
  const { owner, keys, hold, label } = session;
  const { counter, viewLimit, turn, take, release } = request;
  return [
    ...[counter, counter === undefined ? undefined : tokens, viewLimit?.tokens],
    ...[owner, keys?.name, hold?.epoch, hold?.token],
    ...[turn?.name, turn?.stored, turn && (turn.done ? "T" : "t")],
    ...[take?.ticket, take?.holdMs, release, label && 1],
  ];
}

function isPlain({ session, request, plan, at }: PlainAppend): boolean {
  const { hold } = session;
  const { viewLimit, ttlMs, counter, expectedNext, take, release } = request;
  for (const field in request) {
    if (!plainParts.has(field) && request[field as keyof AppendRequest] !== undefined) {
      return false;
    }
  }
  const amounts = [at, ttlMs, viewLimit?.messages, viewLimit?.fromStart, take?.holdMs];
  const count = plan.records.length;
  return (
    amounts.every((amount = 0) => amount <= mostWhole && amount % 1 === 0) &&
    count > 0 &&
    count <= mostPlain &&
    counter === plan.counter &&
    (viewLimit?.tokens === undefined || counter !== undefined) &&
    (expectedNext === undefined || expectedNext === at) &&
    (take === undefined || release === undefined) &&
    hold?.epoch !== ""
  );
}

/**
 * The arguments of the script that commits a reduction; of the head only what is behind its beginning that the one at
 * `rev` has too. A sealed head has none: it may be sealed again under the same `rev`.
 */
export function commitArguments(
  session: SessionRef,
  { head, discard = false, lastId, ...rest }: CommitRequest,
  { newRev, view }: { readonly newRev: string; readonly view: SessionView | undefined },
): (string | Buffer)[] {
  const isKnown = view?.rev === rest.rev && session.keys === undefined;
  const [bytes, before] = [Buffer.from(head), Buffer.from(isKnown ? view.head : "")];
  let shared = 0;
  while (shared < bytes.length && bytes[shared] === before[shared]) {
    shared += 1;
  }
  // Somebody may have changed the head by hand since.
  const beginning = { shared, sharedHash: sha1(bytes.subarray(0, shared)) };
  const request = { ...rest, ...askOf(session), last: lastHash(lastId), newRev, discard, ...beginning };
  return [JSON.stringify(request), bytes.subarray(shared)];
}

/** The concatenated hashes of ids, as scripts take them. */
function hashesOf(ids: readonly string[]): string {
  return ids.map(idHash).join("");
}

/** The name of each turn and the number of records that it loses, as scripts take them. */
function lossesOf(turns: readonly LessenedTurn[] | undefined = []): string[] {
  return turns.flatMap(({ name, removed }) => [name, String(removed)]);
}

/** The beginning of a mark, before the position: `T` if the turn is done, else `t`, and the number of messages. */
export function sizesOf({ done, count }: Pick<TurnMark, "done" | "count">): string {
  return (done ? "T" : "t") + String(count).padStart(digestLength - 1, "0");
}

/** Parses a field of `ids` as a mark; undefined if it is none. */
export function markFrom(value: string | null | undefined): TurnMark | undefined {
  const [, flag, count, first] = /^([Tt])(\d{7})(\d+)$/.exec(value ?? "") ?? [];
  return flag === undefined ? undefined : { done: flag === "T", count: Number(count), first: Number(first) };
}

/** The looked-up ids and the turn of a read, in that order. */
export function lookedUp(
  { base, next }: SessionView,
  lookups: readonly (string | null)[],
  { ids = [], turn }: ReadViewOptions,
): Pick<SessionView, "positions" | "turn"> {
  const positions = ids.map((_, index) => {
    const position = Number(lookups[index]?.slice(digestLength) ?? NaN);
    return position >= base && position < next ? position : undefined;
  });
  const mark = turn === undefined ? undefined : markFrom(lookups[ids.length]);
  return { positions, ...(mark && { turn: mark }) };
}

/** A stored turn as scripts reply it: done (2: open, and made before), count, first, next, epoch, records. */
export function turnFrom([done, count, first, , , records]: readonly unknown[]): StoredTurn {
  const turn = { done: Number(done) === 1, count: Number(count), first: Number(first), records: records as string[] };
  return Number(done) === 2 ? { ...turn, same: true } : turn;
}
