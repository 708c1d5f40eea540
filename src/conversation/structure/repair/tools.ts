import { ToolMessage, type AIMessage, type BaseMessage } from "@langchain/core/messages";
import { type LinkedCall, showId } from "../../messages/calls.js";
import { recordsIn } from "../../messages/values.js";
import { checkTools, resultOf } from "../rules/find-issues.js";
import type { StructureContext, StructureRule } from "../rules/rules.js";
import { synthesized } from "./order.js";
import { errorsIn, mustHold, note, structureOf, type Entry, type RepairSession } from "./session.js";

const missingText = "No result: the call was interrupted, and whether it had an effect is unknown.";
const unreadText = "No result: the arguments of the call could not be read, so it was not run.";

/** The rules about calls without a result. */
const unanswered = ["S08", "S10", "S30"] as const satisfies readonly StructureRule[];

/** A result behind its call. */
interface Result {
  readonly call: LinkedCall;
  readonly entry: Entry;
}

/** Leaves one result directly after each call and removes orphan results: rules S07 to S10, S12 and S30. Linear. */
export function repairTools(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const context = structureOf(entries, session);
  const broken = errorsIn(context, checkTools);
  const at = (rule: StructureRule) => [...broken(rule)].map((place) => entries[place]!);
  note(session, at("S07"), { rule: "S07", action: "removed", message: "Removed a tool result without a call." });
  note(session, at("S12"), { rule: "S12", action: "removed", message: "Removed a further result of a call." });
  note(session, at("S09"), { rule: "S09", action: "moved", message: "Moved a tool result directly after its call." });
  const behind = resultsBehind(context, broken("S09"));
  const taken = new Set([...broken("S07"), ...broken("S12"), ...behind.values()]);
  const byCall = mustHold(session, "S09") && context.profile.resultOrder === "calls";
  const freeId = idsBeside(entries);
  return entries.flatMap((entry, index) => {
    const calls = context.links.callsAt.get(index) ?? [];
    const rule = unanswered.find((each) => broken(each).has(index));
    const open = { calls: rule === undefined ? [] : calls.filter(({ results }) => results.length === 0), rule: rule! };
    const present = calls.flatMap((call) => behind.get(call) ?? []).sort((a, b) => a - b);
    const results: readonly Result[] = [
      ...present.map((place) => ({ call: context.links.callOf[place]!, entry: entries[place]! })),
      ...addedResults(entry, { ...open, session, freeId }),
    ];
    const ordered = byCall ? results.toSorted((a, b) => a.call.place - b.call.place) : results;
    return [...(taken.has(index) ? [] : [entry]), ...ordered.map((result) => result.entry)];
  });
}

/** The place of the result that stands behind its call, or is to, by call. */
function resultsBehind({ messages, links }: StructureContext, late: ReadonlySet<number>): Map<LinkedCall, number> {
  const places = new Map<LinkedCall, number>();
  for (const call of [...links.callsAt.values()].flat()) {
    const place = resultOf(call, messages);
    if (place !== undefined && (links.blockOf[place] === call.index || late.has(place))) {
      places.set(call, place);
    }
  }
  return places;
}

/** Calls of a message that break a rule because they have no results. */
interface OpenCalls {
  readonly calls: readonly LinkedCall[];
  readonly rule: StructureRule;
  readonly session: RepairSession;
  readonly freeId: (id: string) => string;
}

/** Deterministic ids that no message has; calls that share an id are numbered. */
function idsBeside(entries: readonly Entry[]): (id: string) => string {
  const used = new Set(entries.map(({ message }) => message.id));
  const numbers = new Map<string, number>();
  const freeId = (id: string): string => {
    const nth = (numbers.get(id) ?? 0) + 1;
    const numbered = nth === 1 ? id : `${id}-${nth}`;
    numbers.set(id, nth);
    return used.has(numbered) ? freeId(id) : numbered;
  };
  return freeId;
}

function addedResults({ index }: Entry, { calls, rule, session, freeId }: OpenCalls): readonly Result[] {
  const unread = calls.length === 0 ? undefined : idsNotRun(session.original[index]!);
  return calls.map((call) => {
    const { id = "", name } = call;
    const { id: made, ...marked } = synthesized(`result-${id}`);
    const message = new ToolMessage({
      content: unread!.has(id) ? unreadText : missingText,
      tool_call_id: id,
      status: "error",
      id: freeId(made),
      ...marked,
      ...(name !== "" && { name }),
    });
    const entry = { message, index };
    note(session, [entry], { rule, action: "added", message: `Added a result for the call ${showId(call.id)}.` });
    return { call, entry };
  });
}

/** Ids of the calls that no runtime runs, because their arguments are invalid; none that a valid call has too. */
function idsNotRun(message: BaseMessage): ReadonlySet<string> {
  const { tool_calls, invalid_tool_calls } = message as Partial<AIMessage>;
  const ids = new Set(recordsIn(invalid_tool_calls).map(({ id }) => id ?? ""));
  recordsIn(tool_calls).forEach(({ id }) => ids.delete(id ?? ""));
  return ids;
}
