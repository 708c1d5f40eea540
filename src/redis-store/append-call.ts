import { contentConflict, outOfRange, positionConflict } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import { askOf } from "../redis/script-runner.js";
import { idHash, lastHash } from "../redis/keys.js";
import { unknownReply } from "../redis/errors.js";
import { beginsRound } from "../store/record-text.js";
import { randomToken } from "../base/ids.js";
import { logSum } from "../redis/keys.js";
import { viewFrom, viewReply } from "./reads.js";
import type { AppendPlan } from "../store/append-plan.js";
import type { AppendRequest, AppendResult, ReplaceTailRequest } from "../store/session-writes.js";
import type { SideChanges } from "../store/side-fields.js";
import { takenHold, type TakenHold } from "./holds.js";
import { hashesOf, marksOf, turnFrom } from "./turn-marks.js";

/** Side changes as arguments of a script: counts for the request, then pairs to set and fields to remove. */
export function sideArguments({ set = {}, remove = [], bound }: SideChanges = {}) {
  const pairs = Object.entries(set).flatMap(([name, value]) => [`side:${name}`, value]);
  const removed = remove.filter((name) => !Object.hasOwn(set, name)).map((name) => `side:${name}`);
  return { request: { sets: pairs.length / 2, bound }, args: [...pairs, ...removed] };
}

/** The size from which on the script returns the view. */
function limitFields({ viewLimit }: AppendRequest) {
  return { maxMessages: viewLimit?.messages, maxTokens: viewLimit?.tokens, maxFromStart: viewLimit?.fromStart };
}

/** The tokens that records were paid with: number of the record, model, and tokens of input, output and both. */
function usageItems(records: AppendPlan["records"]) {
  const items = records.flatMap(({ usage }, index) =>
    usage === undefined ? [] : [[index + 1, usage.model, usage.input, usage.output, usage.total]],
  );
  return items.length === 0 ? undefined : items;
}

/** The arguments of the append script; `at` is where the log is thought to end. */
export function appendArguments(
  session: SessionRef,
  request: AppendRequest & Partial<Pick<ReplaceTailRequest, "cut">>,
  { plan: { records, counter }, at }: { readonly plan: AppendPlan; readonly at: number },
): string[] {
  const side = sideArguments(request.side);
  const tokens = counter === undefined ? undefined : records.map((record) => record.tokens!);
  const identities: string[] = [];
  const texts: string[] = [];
  let rounds = 0;
  for (const { id, digest, record } of records) {
    identities.push(idHash(id), digest + String(at + texts.length));
    texts.push(record);
    rounds += beginsRound(record) ? 1 : 0;
  }
  const scriptRequest = {
    sets: side.request.sets,
    bound: side.request.bound,
    epoch: randomToken(),
    count: texts.length,
    at,
    rounds,
    sum: logSum(texts),
    keep: request.onConflict === "keep",
    counter: request.counter,
    tokens,
    total: tokens?.reduce((sum, count) => sum + count, 0),
    expectedNext: request.expectedNext,
    ttl: request.ttlMs,
    ...limitFields(request),
    ...askOf(session),
    usage: usageItems(records),
    turn: request.turn,
    take: request.take && { ...request.take, ttlMs: undefined },
    giveBack: request.giveBack,
    cut: request.cut && cutRequest(request.cut),
  };
  const start = isPlain(session, request, scriptRequest) ? plainStart(scriptRequest) : "";
  return [start + JSON.stringify(scriptRequest), ...identities, ...side.args, ...texts];
}

function cutRequest({ epoch, rev, next, lastId, to, forget, turns }: ReplaceTailRequest["cut"]) {
  const read = { epoch, rev, next, last: lastHash(lastId) };
  return { ...read, to, newRev: randomToken(), hashes: hashesOf(forget), marks: marksOf(turns) };
}

/** The reply of the append script; that of its short path in the form of the others. */
export function fullReply(reply: unknown, { records }: AppendPlan): unknown {
  const [, next, time, epoch, owner] = (typeof reply === "string" && /^(\d+) (\d+) (\S+) (.*)$/s.exec(reply)) || [];
  return next === undefined ? reply : ["OK", records.length, 0, [], next, epoch, "", time, owner];
}

/** Returns the result of the append script, or throws the error that its reply stands for. */
export function appendResult(
  sessionId: string,
  { reply, request, plan }: { reply: unknown; request: AppendRequest; plan: AppendPlan },
): AppendResult | "stale" {
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
    return comparedRecords(rest, plan);
  }
  if (word !== "OK") {
    throw refusal(sessionId, { word, detail: rest[0], request, plan });
  }
  const [appended, duplicates, found, next, epoch, view, time] = rest as [
    appended: unknown,
    duplicates: unknown,
    found: unknown[],
    next: unknown,
    epoch: string,
    view: unknown,
    time: unknown,
  ];
  const conflicts = [...plan.conflicts, ...found.map((index) => plan.indexes[Number(index)]!)].sort((a, b) => a - b);
  const result = {
    appended: Number(appended),
    duplicates: plan.duplicates + Number(duplicates),
    conflicts,
    next: Number(next),
    epoch,
    ...(time !== undefined && { time: Number(time) }),
  };
  return withView(result, Array.isArray(view) ? view : undefined);
}

function withView(result: AppendResult, view: unknown): AppendResult {
  const complete = view === undefined || view === null ? undefined : viewFrom(viewReply(view));
  return complete === undefined ? result : { ...result, view: complete };
}

/** A reply of the append script without the hold that was taken with it, and the hold. */
export function heldReply(reply: unknown): { readonly reply: unknown; readonly taken?: TakenHold } {
  const [word, fence, epoch, left, inner] = (Array.isArray(reply) ? reply : []) as unknown[];
  return word === "TOOK" ? { reply: inner, taken: takenHold(fence, epoch, left) } : { reply };
}

/** The owner that a reply of the append script names; `""` where the session has none. */
export function ownerIn(reply: unknown): unknown {
  return Array.isArray(reply) && reply[0] === "OK" ? reply[8] : undefined;
}

/** The result of an append that has to wait for the hold. */
function waitingResult([ahead, next, epoch]: readonly unknown[]): AppendResult {
  const counts = { appended: 0, duplicates: 0, conflicts: [], next: Number(next), epoch: String(epoch) };
  return { ...counts, place: { isHeld: false, ahead: Number(ahead) } };
}

/** The result of an append whose claim of a turn did not fit the turn's mark. */
function repeatedTurn(rest: readonly unknown[], { records, duplicates }: AppendPlan): AppendResult {
  const [, , , next, epoch, , view] = rest;
  const counts = { appended: 0, duplicates: duplicates + records.length, conflicts: [] };
  const result = { ...counts, next: Number(next), epoch: String(epoch), turn: turnFrom(rest) };
  return withView(result, view);
}

/** The stored records of ids whose digest differs. */
function comparedRecords([next, epoch, found, ...texts]: readonly unknown[], plan: AppendPlan): AppendResult {
  const [records, digests] = texts as [string[], string[]];
  const differing = (found as unknown[]).map((at, i) => {
    const index = plan.indexes[Number(at)]!;
    return records[i] === "" ? { index, digest: digests[i]! } : { index, record: records[i]! };
  });
  return { appended: 0, duplicates: 0, conflicts: [], next: Number(next), epoch: String(epoch), differing };
}

interface Refusal {
  readonly word: string;
  readonly detail: unknown;
  readonly request: AppendRequest;
  readonly plan: AppendPlan;
}

/** The error of an append's own refusals, after the gate. */
function refusal(sessionId: string, { word, detail, request, plan }: Refusal): Error {
  switch (word) {
    case "POSITION":
      return positionConflict(sessionId, request.expectedNext ?? 0, Number(detail));
    case "RANGE":
      return outOfRange("to");
    case "CONFLICT":
      return contentConflict(sessionId, plan.records[Number(detail)]?.id ?? "");
    default:
      return unknownReply({ operation: "append", sessionId });
  }
}

/** Records of a request that the script's short path takes; each is three arguments on Lua's stack. */
const mostPlain = 1_000;
/** Numbers up to which Lua and JavaScript write them with digits alone. */
const mostWhole = 5e13;
/** All else that a plain request may name: it becomes a number for the script, or is said by the records. */
const plainFields = new Set(["records", "ttlMs", "viewLimit", "onConflict"]);

/**
 * True for a request of nothing but records by a caller of whom nothing but the id is said: the short path takes it.
 */
export function isPlain(
  { owner, label, hold, keys }: SessionRef,
  request: AppendRequest,
  { at, count, ttl, maxMessages, ...rest }: PlainRequest,
): boolean {
  if ([owner, label, hold, keys].some((part) => part !== undefined)) {
    return false;
  }
  for (const field in request) {
    if (!plainFields.has(field) && request[field as keyof AppendRequest] !== undefined) {
      return false;
    }
  }
  const areWhole = [at, ttl, maxMessages, rest.maxFromStart].every(
    (amount = 0) => amount <= mostWhole && amount % 1 === 0,
  );
  return areWhole && count > 0 && count <= mostPlain && rest.maxTokens === undefined;
}

/** The start of the request that the script's short path reads. */
export function plainStart(request: PlainRequest): string {
  const { at, count, rounds, sum, ttl = "", maxMessages = "", maxFromStart = "", usage } = request;
  return `${at} ${at + count} ${rounds} ${sum} ${ttl} ${maxMessages} ${maxFromStart} ${usage === undefined ? "" : 1} `;
}

interface PlainRequest {
  readonly at: number;
  readonly count: number;
  readonly rounds: number;
  readonly sum: number;
  readonly ttl: number | undefined;
  readonly maxMessages: number | undefined;
  readonly maxFromStart: number | undefined;
  readonly maxTokens: number | undefined;
  readonly usage: unknown;
}
