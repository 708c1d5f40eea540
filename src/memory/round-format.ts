import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../messages/content.js";
import { answeredId } from "../messages/calls.js";
import { roleOf, speakerOf } from "../messages/roles.js";
import type { Round } from "../messages/rounds.js";

/** A message for display: speaker and content. */
export interface Line {
  readonly message: BaseMessage;
  readonly role: string;
  readonly name: string | undefined;
  /** Label before the colon. */
  readonly speaker: string;
  readonly content: string;
}

/** The messages of each round that have text, tool results only on request; empty rounds are omitted. */
export function linesOf(rounds: readonly Round[], includeTools: boolean): Line[][] {
  return rounds
    .map(({ messages }) => messages.filter((message) => includeTools || roleOf(message) !== "tool").map(lineOf))
    .map((lines) => lines.filter(({ content }) => content !== ""))
    .filter((lines) => lines.length > 0);
}

/** `<name or role>: <content>`. */
export function textLine({ speaker, content }: Line): string {
  return `${speaker}: ${content}`;
}

/** The JSON element of a message, in this key order. */
export function jsonLine({ role, name, content }: Line): { role: string; name?: string; content: string } {
  return name === undefined ? { role, content } : { role, name, content };
}

function lineOf(message: BaseMessage): Line {
  const role = shownRole(message);
  const name = message.name === undefined || message.name === "" ? undefined : message.name;
  return { message, role, name, speaker: shownSpeaker({ message, role, name }), content: textOf(message) };
}

/** Display role: summaries are the system's, unknown roles the assistant's. */
function shownRole(message: BaseMessage): string {
  if (roleOf(message) === "summary") {
    return "system";
  }
  const speaker = speakerOf(message);
  return speaker === "other" ? "assistant" : speaker;
}

function shownSpeaker({ message, role, name }: Pick<Line, "message" | "role" | "name">): string {
  if (role === "tool") {
    return `tool(${name ?? answeredId(message)})`;
  }
  return role === "assistant" ? (name ?? role) : role;
}
