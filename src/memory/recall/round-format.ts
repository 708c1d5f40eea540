import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { roleOf, type Role } from "../../messages/roles.js";
import type { Round } from "../../conversation/rounds.js";
import { textOf } from "../../messages/text.js";

/** A message as it is shown: who speaks, and what. */
export interface Line {
  readonly message: BaseMessage;
  readonly role: string;
  readonly name: string | undefined;
  /** What stands before the colon. */
  readonly speaker: string;
  readonly content: string;
}

const shownRoles: Readonly<Record<Role, string>> = {
  human: "user",
  ai: "assistant",
  tool: "tool",
  system: "system",
  summary: "system",
  other: "assistant",
};

/**
 * The messages of each round that have text, without tool results unless asked for; rounds of which nothing is left are
 * left out.
 */
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

/** What the JSON form holds of a message; key order as shown. */
export function jsonLine({ role, name, content }: Line): { role: string; name?: string; content: string } {
  return name === undefined ? { role, content } : { role, name, content };
}

function lineOf(message: BaseMessage): Line {
  const kind = roleOf(message);
  const role = shownRoles[kind];
  const name = message.name === undefined || message.name === "" ? undefined : message.name;
  return { message, role, name, speaker: speakerOf({ kind, role, name, message }), content: textOf(message) };
}

function speakerOf({
  kind,
  role,
  name,
  message,
}: {
  kind: Role;
  role: string;
  name: string | undefined;
  message: BaseMessage;
}): string {
  if (kind === "tool") {
    return `tool(${name ?? (message as ToolMessage).tool_call_id})`;
  }
  return kind === "ai" || kind === "other" ? (name ?? role) : role;
}
