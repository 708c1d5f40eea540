import { contentConflict, damaged, epochConflict, fenced, positionConflict } from "./refusals.js";
import { packIdentities } from "./identity-bytes.js";
import { randomToken } from "./random-token.js";
import { viewFrom, viewReply } from "./redis-replies.js";
import type { AppendPlan } from "./request-checks.js";
import type { AppendRequest, AppendResult, SideChanges } from "./session-store.js";

/** Side changes as arguments of a script: counts for the request, then pairs to set and fields to remove. */
export function sideArguments({ set = {}, remove = [], bound }: SideChanges = {}) {
  const pairs = Object.entries(set).flatMap(([name, value]) => [`side:${name}`, value]);
  const removed = remove.filter((name) => !Object.hasOwn(set, name)).map((name) => `side:${name}`);
  return { request: { sets: pairs.length / 2, bound }, args: [...pairs, ...removed] };
}

/** The arguments of the append script. */
export function appendArguments(request: AppendRequest, plan: AppendPlan): (string | Buffer)[] {
  const side = sideArguments(request.side);
  // Every field by name: spreading another object in takes longer than all the rest of this function.
  const scriptRequest = {
    sets: side.request.sets,
    bound: side.request.bound,
    epoch: randomToken(),
    rev: randomToken(),
    count: plan.records.length,
    keep: request.onConflict === "keep",
    counter: request.counter,
    tokens: plan.counter === undefined ? undefined : plan.records.map(({ tokens }) => tokens),
    expectedNext: request.expectedNext,
    expectedEpoch: request.expectedEpoch,
    fence: request.fencingToken,
    ttl: request.ttlMs,
    maxMessages: request.viewLimit?.messages,
    maxTokens: request.viewLimit?.tokens,
  };
  const records = plan.records.map(({ record }) => record);
  return [JSON.stringify(scriptRequest), packIdentities(plan.records), ...side.args, ...records];
}

/** The result of the append script, or the error that its reply stands for. */
export function appendResult(sessionId: string, { reply, request, plan }: { reply: unknown; request: AppendRequest; plan: AppendPlan }): AppendResult {
  const [word, ...rest] = reply as [string, ...unknown[]];
  if (word !== "OK") {
    throw refusal(sessionId, { word, detail: Number(rest[0]), request, plan });
  }
  const [appended, duplicates, found, next, epoch, view] = rest as [unknown, unknown, unknown[], unknown, string, unknown];
  const conflicts = [...plan.conflicts, ...found.map((index) => plan.indexes[Number(index)]!)].sort((a, b) => a - b);
  const result = { appended: Number(appended), duplicates: plan.duplicates + Number(duplicates), conflicts, next: Number(next), epoch };
  const complete = view === undefined || view === null ? undefined : viewFrom(viewReply(view));
  return complete === undefined ? result : { ...result, view: complete };
}

interface Refusal {
  readonly word: string;
  readonly detail: number;
  readonly request: AppendRequest;
  readonly plan: AppendPlan;
}

function refusal(sessionId: string, { word, detail, request, plan }: Refusal): Error {
  switch (word) {
    case "EPOCH":
      return epochConflict(sessionId);
    case "FENCED":
      return fenced(sessionId);
    case "POSITION":
      return positionConflict(sessionId, request.expectedNext ?? 0, detail);
    case "CONFLICT":
      return contentConflict(sessionId, plan.records[detail]?.id ?? "");
    default:
      return damaged("append", sessionId);
  }
}
