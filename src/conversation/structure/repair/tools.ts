import { ToolMessage, type AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { createHash } from "node:crypto";
import { showId, callsOf, blocksOf, textBlock, answeredId, callIdsOf } from "../../messages/content.js";
import type { LinkedCall, Call } from "../../messages/content.js";
import { recordsIn, speakerOf } from "../../messages/message.js";
import { checkTools, resultOf, beginsWithThought, checkOrder, wrongIds } from "../rules/find-issues.js";
import type { StructureContext, StructureRule } from "../rules/rules.js";
import { synthesized } from "./order.js";
import { errorsIn, mustHold, note, structureOf, type Entry, type RepairSession } from "./session.js";
import { jsonText } from "../../../base/json-text.js";
import { changeContent, editMessage } from "../../messages/copies/edit-message.js";
import { ConfigurationError } from "../../../base/errors.js";
import { changeMessage } from "../../messages/change-message.js";
import { alphanumerics, fitsForm } from "../profiles/neutral.js";
import type { CallIdForm } from "../profiles/profile.js";

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

/**
 * Turns calls and results into text if no tools are declared (S28): calls into text of their AI message, results into
 * user messages.
 */
export function foldTools(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const isBroken = errorsIn(structureOf(entries, session), checkTools)("S28").size > 0;
  return isBroken ? entries.map((entry) => fold(entry, "S28", session)) : entries;
}

/**
 * Turns the first steps of the turn that goes on into text if they do not begin with the model's thought (S33): up to a
 * step that does, for which the results before it are the user's message.
 */
export function foldFirstSteps(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const [start] = errorsIn(structureOf(entries, session), checkOrder)("S33");
  if (start === undefined) {
    return entries;
  }
  const isResult = (message: BaseMessage | undefined) => message !== undefined && speakerOf(message) === "tool";
  const next = entries.findIndex(({ message }, index) => {
    return index > start && isResult(entries[index - 1]?.message) && beginsWithThought(message);
  });
  const end = next === -1 ? entries.length : next;
  return entries.map((entry, index) => (index < start || index >= end ? entry : fold(entry, "S33", session)));
}

function fold(entry: Entry, rule: StructureRule, session: RepairSession): Entry {
  const isCalling = callsOf(entry.message).length > 0;
  if (!isCalling && speakerOf(entry.message) !== "tool") {
    return entry;
  }
  const message = isCalling ? "Turned tool calls into text." : "Turned a tool result into text of the user.";
  note(session, [entry], { rule, action: "changed", message });
  return { ...entry, message: isCalling ? foldCalls(entry.message) : foldResult(entry.message) };
}

function foldCalls(message: BaseMessage): BaseMessage {
  const told = callsOf(message).map(tellCall).join("\n");
  const silent = editMessage(message, { calls: () => "remove" });
  return changeContent(
    silent,
    typeof silent.content === "string"
      ? [silent.content, told].filter(Boolean).join("\n")
      : [...blocksOf(silent), textBlock(told)],
  );
}

function tellCall({ name, args }: Call): string {
  const text = args === undefined ? "nothing" : (jsonText(args) ?? "arguments that cannot be shown");
  return `[called ${name} with ${text}]`;
}

function foldResult(message: BaseMessage): BaseMessage {
  const label = `[result of ${message.name ?? "a tool"}]`;
  const { content, id } = message;
  return new HumanMessage({
    content: typeof content === "string" ? `${label} ${content}` : [textBlock(label), ...blocksOf(message)],
    ...(id === undefined ? {} : { id }),
  } as never);
}

/** Gives calls valid (S13) and unique (S11) ids, and changes their results accordingly. Linear. */
export function repairCallIds(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const context = structureOf(entries, session);
  const newIds = idsFor(context, mustHold(session, "S13") ? (context.profile.callIds ?? {}) : {});
  if (newIds.size === 0) {
    return entries;
  }
  const { callsAt, callOf } = context.links;
  return entries.map((entry, place) => {
    const answered = newIds.get(callOf[place]!);
    if (answered !== undefined) {
      return { ...entry, message: changeMessage(entry.message, { tool_call_id: answered.id }) };
    }
    const ids = callsAt.get(place)?.map((call) => newIds.get(call)) ?? [];
    if (ids.every((made) => made === undefined)) {
      return entry;
    }
    ids.forEach((made) => made && note(session, [entry], { rule: made.rule, action: "changed", message: made.done }));
    const calls = (_: unknown, at: number) => ids[at] && { id: ids[at].id };
    return { ...entry, message: editMessage(entry.message, { calls }) };
  });
}

interface NewId {
  readonly id: string;
  readonly rule: "S11" | "S13";
  readonly done: string;
}

/** The new id of each call that needs one: in every request the same for an id that only lacks the form. */
function idsFor(context: StructureContext, form: CallIdForm): ReadonlyMap<LinkedCall | undefined, NewId> {
  const errors = wrongIds(context).filter(({ rule, severity = context.profile.rules[rule] }) => severity === "error");
  const makeId = idMaker(form, errors.length === 0 ? [] : context.messages.flatMap(idsIn));
  // The repetition counts for an id with both faults.
  const faults = new Map(errors.map((error) => [error.call, error]));
  return new Map(
    [...faults].map(([call, { rule, nth }]) => {
      const { id = "" } = call;
      const made = rule === "S11" ? makeId(`${id}\u0000${nth}`, id && `${id}_${nth}`) : makeId(id);
      return [call, { id: made, rule, done: `Gave the call ${showId(id)} the id ${showId(made)}.` }] as const;
    }),
  );
}

function idsIn(message: BaseMessage): readonly string[] {
  const answered = answeredId(message);
  return answered === undefined ? callIdsOf(message) : [answered];
}

/** The length of a new id if the form does not set one. */
const usualLength = 24;

/** Collisions before the form's id space counts as exhausted. */
const maxAttempts = 1000;

/**
 * A function that makes an id of the form for each source, a readable one where that is free, else a hash: the same for
 * the same source, and none of the conversation's `ids`.
 */
function idMaker(form: CallIdForm, ids: readonly string[]): (source: string, readable?: string) => string {
  const taken = new Set(ids);
  const made = new Map<string, string>();
  const freeId = (source: string, readable: string): string => {
    if (readable !== "" && !taken.has(readable) && fitsForm(readable, form)) {
      return readable;
    }
    for (let attempt = 0; attempt <= maxAttempts; attempt += 1) {
      const id = hashOf(attempt === 0 ? source : `${source}\u0000again\u0000${attempt}`, form);
      if (!taken.has(id)) {
        return id;
      }
    }
    const message = `Option "profile": "callIds" leaves too few ids for the calls of this conversation.`;
    throw new ConfigurationError("profile", message);
  };
  return (source, readable = "") => {
    const id = made.get(source) ?? freeId(source, readable);
    made.set(source, id);
    taken.add(id);
    return id;
  };
}

function hashOf(source: string, form: CallIdForm): string {
  const { characters = alphanumerics, minLength = 1, maxLength = Infinity } = form;
  const preferred = [...alphanumerics].filter((character) => characters.includes(character));
  const alphabet = preferred.length > 0 ? preferred : [...characters];
  const length = Math.min(maxLength, Math.max(minLength, usualLength));
  const bytes = createHash("shake256", { outputLength: length * 2 })
    .update(source)
    .digest();
  return Array.from({ length }, (_, index) => alphabet[bytes.readUInt16BE(index * 2) % alphabet.length]!).join("");
}
