import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../base/json-text.js";
import { changeContent } from "../../messages/copies/change-content.js";
import { editMessage } from "../../messages/copies/edit-message.js";
import { type Call, callsOf } from "../../messages/calls.js";
import { type Block, blocksOf } from "../../messages/content.js";
import { speakerOf } from "../../messages/roles.js";
import { mustHold, type Entry, type RepairSession } from "./session.js";

/**
 * Turns calls and results into text if no tools are declared (S28): calls into text of their AI message, results into
 * user messages.
 */
export function foldTools(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  if (session.criteria.hasTools !== false || !mustHold(session, "S28")) {
    return entries;
  }
  return entries.map((entry) => {
    const isCalling = callsOf(entry.message).length > 0;
    if (!isCalling && speakerOf(entry.message) !== "tool") {
      return entry;
    }
    const message = isCalling ? "Turned tool calls into text." : "Turned a tool result into text of the user.";
    session.repairs.push({ rule: "S28", index: entry.index, action: "changed", message });
    return { ...entry, message: isCalling ? foldCalls(entry.message) : foldResult(entry.message) };
  });
}

function foldCalls(message: BaseMessage): BaseMessage {
  const told = callsOf(message).map(tellCall).join("\n");
  const silent = editMessage(message, { calls: () => "remove" });
  const { content } = silent as { content: unknown };
  return changeContent(
    silent,
    typeof message.content === "string"
      ? [message.content, told].filter(Boolean).join("\n")
      : [...(Array.isArray(content) ? blocksOf(silent) : []), textBlock(told)],
  );
}

function tellCall({ name, args }: Call): string {
  const given = args === undefined ? "nothing" : (jsonText(args) ?? "arguments that cannot be shown");
  return `[called ${name} with ${given}]`;
}

function foldResult(message: BaseMessage): BaseMessage {
  const label = `[result of ${message.name ?? "a tool"}]`;
  const { content, id } = message;
  return new HumanMessage({
    content: typeof content === "string" ? `${label} ${content}` : [textBlock(label), ...blocksOf(message)],
    ...(id === undefined ? {} : { id }),
  } as never);
}

function textBlock(text: string): Block {
  return { type: "text", text } as Block;
}
