import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { mergeMessages } from "../../messages/copies/edit-message.js";
import { type Speaker, speakerOf, synthesizedKey } from "../../messages/message.js";
import { checkOrder, mayBeFirst, mayBeLast, lastQuestionIn } from "../rules/find-issues.js";
import type { StructureRule } from "../rules/rules.js";
import { errorsIn, indexesOf, note, structureOf, type Entry, type RepairSession } from "./session.js";
import type { FormFacts } from "../adapters/adapter.js";
import { asSummary } from "../adapters/blocks.js";
import { formFor, ruleOfForm } from "../adapters/form.js";
import { placesInRequest, type RequestPlaces } from "../adapters/own-tools.js";

const missingQuestion = "(The conversation begins with the assistant.)";
const missingRequest = "(Please go on.)";
const missingAnswer = "(no answer to the tool results)";

/** The places that break a rule of order. */
function outOfOrder(entries: readonly Entry[], session: RepairSession, rule: StructureRule) {
  return errorsIn(structureOf(entries, session), checkOrder)(rule);
}

/** Moves system messages to the front (S03), if the profile asks for it. */
export function moveSystemMessages(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const misplaced = outOfOrder(entries, session, "S03");
  const moved = entries.filter((_, place) => misplaced.has(place));
  note(session, moved, { rule: "S03", action: "moved", message: "Moved a system message to the front." });
  return moved.length === 0 ? entries : [...entries.filter(isSystem), ...entries.filter((entry) => !isSystem(entry))];
}

/** Merges the system messages in front into one (S04), if the profile asks for it. */
export function mergeSystemMessages(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return mergeRuns(entries, session, "S04");
}

/** Merges messages that follow one of the same speaker (S06), if the profile asks for it. */
export function mergeSpeakers(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return mergeRuns(entries, session, "S06");
}

function mergeRuns(entries: readonly Entry[], session: RepairSession, rule: "S04" | "S06"): readonly Entry[] {
  const further = outOfOrder(entries, session, rule);
  if (further.size === 0) {
    return entries;
  }
  const runs: Entry[][] = [];
  const latest = new Map<Speaker, Entry[]>();
  entries.forEach((entry, place) => {
    const speaker = speakerOf(entry.message);
    if (further.has(place)) {
      latest.get(speaker)!.push(entry);
    } else {
      runs.push([entry]);
      latest.set(speaker, runs.at(-1)!);
    }
  });
  return runs.map((run) => {
    const one = mergedOf(run);
    const others = run.filter(({ index }) => index !== one.index);
    note(session, others, { rule, action: "merged", message: "Merged a message into one of the same speaker." });
    return one;
  });
}

/** The entries of one speaker as one: the first, or, of answers, the last, whose calls the next messages answer. */
function mergedOf(run: readonly Entry[]): Entry {
  const [first] = run;
  if (run.length === 1) {
    return first!;
  }
  const { index } = speakerOf(first!.message) === "assistant" ? run.at(-1)! : first!;
  const merged = run.flatMap(indexesOf).filter((each) => each !== index);
  return { index, merged, message: mergeMessages(run.map(({ message }) => message)) };
}

/**
 * Adds or removes messages so that the first is the user's (S02), an AI message separates results from users (S25), and
 * the last is as the choices ask (S05).
 */
export function repairTurns(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return repairEnd(addAnswers(repairBeginning(entries, session), session), session);
}

function repairBeginning(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const [first] = outOfOrder(entries, session, "S02");
  if (first === undefined) {
    return entries;
  }
  const { profile } = session.criteria;
  if (session.choices.leadingMessages === "drop") {
    const isFirst = ({ message }: Entry, place: number) => place > first && mayBeFirst(message, profile);
    const place = entries.findIndex(isFirst);
    const end = place === -1 ? entries.length : place;
    const message = "Removed a message before the first message of the user.";
    note(session, entries.slice(first, end), { rule: "S02", action: "removed", message });
    return [...entries.slice(0, first), ...entries.slice(end)];
  }
  const { index } = entries[first]!;
  const message = "Added a placeholder message of the user before the first message.";
  note(session, [entries[first]!], { rule: "S02", action: "added", message });
  const question = new HumanMessage({ content: missingQuestion, ...synthesized("first") });
  return [...entries.slice(0, first), { message: question, index }, ...entries.slice(first)];
}

function addAnswers(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const unanswered = outOfOrder(entries, session, "S25");
  return entries.flatMap((entry, place) => {
    if (!unanswered.has(place)) {
      return [entry];
    }
    const { message: before, index } = entries[place - 1]!;
    const message = "Added a placeholder message of the model before the user's.";
    note(session, [entry], { rule: "S25", action: "added", message });
    const answer = new AIMessage({ content: missingAnswer, ...synthesized(`answer-${before.id ?? index}`) });
    return [{ message: answer, index: entry.index }, entry];
  });
}

function repairEnd(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const rule = missingRequestOf(entries, session);
  if (rule !== undefined) {
    const index = entries.at(-1)?.index ?? 0;
    const request = new HumanMessage({ content: missingRequest, ...synthesized("last") });
    const done = "Added a placeholder message of the user behind the last message.";
    note(session, [{ message: request, index }], { rule, action: "added", message: done });
    return [...entries, { message: request, index }];
  }
  if (session.choices.trailingMessages !== "drop" || outOfOrder(entries, session, "S05").size === 0) {
    return entries;
  }
  const end = entries.findLastIndex(({ message }) => mayBeLast(message)) + 1;
  const message = "Removed a message of the model from the end.";
  note(session, entries.slice(end), { rule: "S05", action: "removed", message });
  return entries.slice(0, end);
}

/** The rule by which a placeholder of the user has to stand behind the last message, whose turn is then at its end. */
function missingRequestOf(entries: readonly Entry[], session: RepairSession): StructureRule | undefined {
  if (session.choices.trailingMessages !== "fill") {
    return undefined;
  }
  const broken = errorsIn(structureOf(entries, session), checkOrder);
  return (["S01", "S05"] as const).find((rule) => broken(rule).size > 0);
}

/** Id and mark of a message that a repair adds. */
export function synthesized(id: string): { readonly id: string; readonly additional_kwargs: Record<string, unknown> } {
  return { id: `synthesized-${id}`, additional_kwargs: { [synthesizedKey]: true } };
}

/** True for a system message. */
function isSystem({ message }: Entry): boolean {
  return speakerOf(message) === "system";
}

/** Gives each message the form that the profile's adapter reads. */
export function giveForm(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, storesReasoning, model } = session.criteria;
  if (profile.adapter === undefined) {
    return entries;
  }
  const isOver = missingRequestOf(entries, session) !== undefined;
  const last = isOver ? entries.length : lastQuestionIn(entries.map(({ message }) => message));
  const facts = { storesReasoning, model };
  const isResult = ({ message }: Entry) => speakerOf(message) === "tool";
  const places = placesIn(entries, session);
  const formed = entries.flatMap((entry, place) =>
    withReadable(entry, session).map((each) =>
      isResult(each)
        ? each
        : inAdapterForm(each, { ...facts, isOfThisTurn: place > last, ...places?.get(place) }, session),
    ),
  );
  // The form of results depends on that of the calls.
  const placesNow = placesIn(formed, session);
  return formed.map((entry, place) =>
    isResult(entry) ? inAdapterForm(entry, { ...facts, isOfThisTurn: true, ...placesNow?.get(place) }, session) : entry,
  );
}

function placesIn(entries: readonly Entry[], { criteria }: RepairSession): RequestPlaces | undefined {
  return placesInRequest[criteria.profile.adapter!]?.(entries.map(({ message }) => message));
}

function inAdapterForm(entry: Entry, facts: FormFacts, session: RepairSession): Entry {
  const message = formFor(session.criteria.profile.adapter!, entry.message, facts);
  if (message === entry.message) {
    return entry;
  }
  const rule = ruleOfForm(message);
  const done = "Gave the message the form that the provider's adapter reads.";
  note(session, [entry], { rule, action: "changed", message: done });
  return { ...entry, message };
}

/** The text by which another provider compacted the conversation, as a summary in front of what the answer says. */
function withReadable(entry: Entry, session: RepairSession): readonly Entry[] {
  const parts = asSummary(entry.message, session.criteria.profile.adapter!);
  if (parts === undefined) {
    return [entry];
  }
  const done = "Gave what another provider compacted the form of a summary.";
  note(session, [entry], { rule: "S27", action: "changed", message: done });
  return parts.map((message) => ({ ...entry, message }));
}
