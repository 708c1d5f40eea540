import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../../base/json-text.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { type Call, callsOf } from "../../messages/calls.js";
import { blocksOf, textBlock } from "../../messages/content.js";
import { speakerOf } from "../../messages/roles.js";
import { beginsWithThought, checkOrder, checkTools } from "../rules/find-issues.js";
import type { StructureRule } from "../rules/rules.js";
import { errorsIn, note, structureOf, type Entry, type RepairSession } from "./session.js";

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
