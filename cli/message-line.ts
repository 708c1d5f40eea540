import type { BaseMessage } from "@langchain/core/messages";
import { callsOf, partsInWords } from "../src/conversation/messages/content.js";
import { roleOf, summaryMarkOf } from "../src/conversation/messages/message.js";
import { printable } from "./printable.js";

/** Describes a message in a few words, without its text: its speaker, its calls, the range of a summary. */
export function kindOf(message: BaseMessage): string {
  const role = roleOf(message);
  if (role === "summary") {
    const { count } = summaryMarkOf(message) as { count?: number };
    return count === undefined ? "summary" : `summary of ${count} messages`;
  }
  const calls = callsOf(message).map(({ name = "?" }) => name);
  if (calls.length > 0) {
    return `ai calls ${printable(calls.join(", "))}`;
  }
  return role === "tool" ? `result of ${printable(message.name ?? "a tool")}` : role;
}

/** The message's text, printable, over several lines; what is no text is named. */
export function contentOf(message: BaseMessage): string[] {
  const calls = callsOf(message).map(({ name, args }) => `→ ${name}(${JSON.stringify(args)})`);
  const text = partsInWords(message).join("\n");
  return printable([text, ...calls].filter((part) => part !== "").join("\n"), { lines: true }).split("\n");
}
