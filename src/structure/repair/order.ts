import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { callsOf } from "../../messages/calls.js";
import { mergeMessages } from "../../messages/copies/merge-messages.js";
import { speakerOf } from "../../messages/roles.js";
import { mayBeFirst, mayBeLast } from "../rules/find-issues.js";
import { mustHold, synthesizedKey, type Entry, type RepairSession } from "./session.js";

const missingQuestion = "(The conversation begins with the assistant.)";
const missingRequest = "(Please go on.)";
const missingAnswer = "(no answer to the tool results)";

/** Moves system messages to the front (S03) and merges them into one (S04), if the profile asks for it. */
export function repairSystemMessages(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return mergeSystemMessages(moveSystemMessages(entries, session), session);
}

function moveSystemMessages(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const front = entries.findIndex((entry) => !isSystem(entry));
  const isHeld = mustHold(session, "S03") && session.criteria.profile.lateSystem !== "accepted";
  const misplaced = front === -1 || !isHeld ? [] : entries.slice(front).filter(isSystem);
  if (misplaced.length === 0) {
    return entries;
  }
  for (const { index } of misplaced) {
    const message = "Moved a system message to the front.";
    session.repairs.push({ rule: "S03", index, action: "moved", message });
  }
  return [...entries.slice(0, front), ...misplaced, ...entries.slice(front).filter((entry) => !isSystem(entry))];
}

/** Merges the system messages into one (S04), late ones only where the profile has no place for them. */
export function mergeSystemMessages(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const keepsLate = session.criteria.profile.lateSystem === "accepted";
  const found = keepsLate ? entries.findIndex((entry) => !isSystem(entry)) : -1;
  const front = found === -1 ? entries.length : found;
  const [first, ...others] = mustHold(session, "S04") ? entries.slice(0, front).filter(isSystem) : [];
  if (first === undefined || others.length === 0) {
    return entries;
  }
  for (const { index } of others) {
    session.repairs.push({ rule: "S04", index, action: "merged", message: "Merged a system message into the first." });
  }
  const merged = {
    ...first,
    merged: others.map(({ index }) => index),
    message: mergeMessages([first, ...others].map(({ message }) => message)),
  };
  const gone = new Set(others);
  return entries.flatMap((entry) => (entry === first ? [merged] : gone.has(entry) ? [] : [entry]));
}

/** Merges consecutive messages of one speaker (S06), if the profile asks for it. Tool results are never merged. */
export function mergeRuns(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  if (!mustHold(session, "S06")) {
    return entries;
  }
  const merged: Entry[] = [];
  let run: Entry[] = [];
  const finishRun = () => {
    for (const entry of mergeRun(run, session)) {
      merged.push(entry);
    }
    run = [];
  };
  for (const entry of entries) {
    const speaker = speakerOf(entry.message);
    if (speaker === "system") {
      merged.push(entry);
      continue;
    }
    if (run.length > 0 && speakerOf(run[0]!.message) !== speaker) {
      finishRun();
    }
    run.push(entry);
  }
  finishRun();
  return merged;
}

function mergeRun(run: readonly Entry[], { repairs }: RepairSession): readonly Entry[] {
  const speaker = run.length > 1 ? speakerOf(run[0]!.message) : undefined;
  if (speaker !== "user" && speaker !== "assistant") {
    return run;
  }
  const base = run.at(speaker === "user" ? 0 : -1)!;
  for (const entry of run) {
    if (entry !== base) {
      const merged = speaker === "user" ? "user into the one before it" : "model into the one after it";
      const message = `Merged a message of the ${merged}.`;
      repairs.push({ rule: "S06", index: entry.index, action: "merged", message });
    }
  }
  const merged = run.filter((entry) => entry !== base).map(({ index }) => index);
  return [{ index: base.index, merged, message: mergeMessages(run.map(({ message }) => message)) }];
}

/**
 * Adds or removes messages so that the first is the user's (S02) and an AI message separates results from users (S25).
 */
export function repairTurns(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  return repairEnd(addAnswers(repairBeginning(entries, session), session), session);
}

function repairBeginning(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const messages = entries.map(({ message }) => message);
  const place = { messages, speakers: messages.map(speakerOf), profile: session.criteria.profile };
  const first = entries.findIndex((entry) => !isSystem(entry));
  if (first === -1 || mayBeFirst(place, first) || !mustHold(session, "S02")) {
    return entries;
  }
  if (session.choices.leadingMessages === "drop") {
    const found = entries.findIndex((entry, index) => index >= first && !isSystem(entry) && mayBeFirst(place, index));
    const end = found === -1 ? entries.length : found;
    for (const index of entries.slice(first, end).flatMap(indexesOf)) {
      session.repairs.push({
        rule: "S02",
        index,
        action: "removed",
        message: "Removed a message before the first message of the user.",
      });
    }
    return [...entries.slice(0, first), ...entries.slice(end)];
  }
  const { index } = entries[first]!;
  session.repairs.push({
    rule: "S02",
    index,
    action: "added",
    message: "Added a placeholder message of the user before the first message.",
  });
  const question = new HumanMessage({
    content: missingQuestion,
    id: "synthesized-first",
    additional_kwargs: { [synthesizedKey]: true },
  });
  return [...entries.slice(0, first), { message: question, index }, ...entries.slice(first)];
}

function addAnswers(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  if (!mustHold(session, "S25")) {
    return entries;
  }
  const answered: Entry[] = [];
  let previous: Entry | undefined;
  for (const entry of entries) {
    if (previous !== undefined && speakerOf(previous.message) === "tool" && speakerOf(entry.message) === "user") {
      const id = `synthesized-answer-${previous.message.id ?? previous.index}`;
      const message = new AIMessage({ content: missingAnswer, id, additional_kwargs: { [synthesizedKey]: true } });
      answered.push({ message, index: entry.index });
      session.repairs.push({
        rule: "S25",
        index: entry.index,
        action: "added",
        message: "Added a placeholder message of the model before the user's.",
      });
    }
    answered.push(entry);
    previous = isSystem(entry) ? previous : entry;
  }
  return answered;
}

function repairEnd(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  if (needsRequest(entries, session)) {
    return withRequest(entries, session);
  }
  if (!endsWithUser(session) || session.choices.trailingMessages !== "drop") {
    return entries;
  }
  const end = entries.findLastIndex((entry) => !isTrailing(entry)) + 1;
  for (const index of entries.slice(end).flatMap(indexesOf)) {
    session.repairs.push({
      rule: "S05",
      index,
      action: "removed",
      message: "Removed a message of the model from the end.",
    });
  }
  return entries.slice(0, end);
}

function endsWithUser(session: RepairSession): boolean {
  return mustHold(session, "S05") && session.criteria.purpose === "model-input";
}

function isTrailing({ message }: Entry): boolean {
  return callsOf(message).length === 0 && !mayBeLast(message);
}

/** True if a placeholder of the user has to stand behind the last message, whose turn is then at its end. */
export function needsRequest(entries: readonly Entry[], session: RepairSession): boolean {
  const isFilled = endsWithUser(session) && session.choices.trailingMessages === "fill";
  return isFilled && (entries.every(isSystem) || isTrailing(entries.at(-1)!));
}

/** With a placeholder message of the user at the end. */
function withRequest(entries: readonly Entry[], { repairs }: RepairSession): readonly Entry[] {
  const index = entries.at(-1)?.index ?? 0;
  const message = "Added a placeholder message of the user behind the last message.";
  repairs.push({ rule: entries.every(isSystem) ? "S01" : "S05", index, action: "added", message });
  const request = new HumanMessage({
    content: missingRequest,
    id: "synthesized-last",
    additional_kwargs: { [synthesizedKey]: true },
  });
  return [...entries, { message: request, index }];
}

/** True for a system message. */
export function isSystem({ message }: Entry): boolean {
  return speakerOf(message) === "system";
}

function indexesOf({ index, merged = [] }: Entry): readonly number[] {
  return [...merged, index];
}
