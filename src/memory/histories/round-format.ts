import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../conversation/messages/content.js";
import { answeredId } from "../../conversation/messages/calls.js";
import { roleOf, speakerOf } from "../../conversation/messages/roles.js";
import type { Round } from "../../conversation/messages/rounds.js";

/** A message for display: speaker and content. */
export interface Line {
  readonly message: BaseMessage;
  readonly role: string;
  readonly name: string | undefined;
  readonly speaker: string;
  readonly content: string;
}

/**
 * The messages of each round that have text, tool results only on request; empty rounds are omitted. Users are shown by
 * their names where there are several.
 */
export function linesOf(rounds: readonly Round[], includeTools: boolean): Line[][] {
  const users = rounds.flatMap(({ messages }) => messages.filter((message) => roleOf(message) === "human"));
  const hasUsers = new Set(users.flatMap(({ name }) => name || [])).size > 1;
  const toLine = (message: BaseMessage) => lineOf(message, hasUsers);
  return rounds
    .map(({ messages }) => messages.filter((message) => includeTools || roleOf(message) !== "tool").map(toLine))
    .map((lines) => lines.filter(({ content }) => content !== ""))
    .filter((lines) => lines.length > 0);
}

/** `<name or role>: <content>`. */
export function textLine(line: Line): string {
  return labelOf(line) + line.content;
}

/** Name or role, in front of the content. */
export function labelOf({ speaker }: Line): string {
  return `${speaker}: `;
}

/** True for a user who is shown by name. */
export function isNamedUser({ role, speaker }: Line): boolean {
  return role === "user" && speaker !== role;
}

/** The JSON element of a message, in this key order. */
export function jsonLine({ role, name, content }: Line): { role: string; name?: string; content: string } {
  return name === undefined ? { role, content } : { role, name, content };
}

function lineOf(message: BaseMessage, hasUsers: boolean): Line {
  const role = shownRole(message);
  const name = message.name === undefined || message.name === "" ? undefined : message.name;
  return { message, role, name, speaker: shownSpeaker({ message, role, name }, hasUsers), content: textOf(message) };
}

/** Display role: summaries are the system's, unknown roles the assistant's. */
function shownRole(message: BaseMessage): string {
  if (roleOf(message) === "summary") {
    return "system";
  }
  const speaker = speakerOf(message);
  return speaker === "other" ? "assistant" : speaker;
}

function shownSpeaker({ message, role, name }: Pick<Line, "message" | "role" | "name">, hasUsers: boolean): string {
  if (role === "tool") {
    return `tool(${name ?? answeredId(message)})`;
  }
  return role === "assistant" || (role === "user" && hasUsers) ? (name ?? role) : role;
}
