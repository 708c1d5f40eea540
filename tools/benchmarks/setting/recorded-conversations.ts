import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import { MessageHistory } from "langchain-redis-memory/openai";

/** Recorded conversations, and in words which they are. */
export interface Recordings {
  readonly conversations: readonly (readonly BaseMessage[])[];
  readonly source: string;
}

/** The second file is not part of the repository; it is used where it is at hand. */
const files = [
  { path: "../../../examples/data/recorded-conversations.jsonl", source: "of examples/data" },
  { path: "../../../../shared/data/airline-trajectories.jsonl", source: "of a customer-service agent (tau-bench)" },
];

/** The recorded conversations at hand; the first few if `limit` says so. */
export function recordedConversations(limit = Infinity): Recordings {
  const found = files
    .map(({ path, source }) => ({ path: fileURLToPath(new URL(path, import.meta.url)), source }))
    .filter(({ path }) => existsSync(path))
    .map(({ path, source }) => ({ conversations: read(path), source }));
  return {
    conversations: found.flatMap(({ conversations }) => conversations).slice(0, limit),
    source: found.map(({ conversations, source }) => `${conversations.length} ${source}`).join(" and "),
  };
}

/** Every `count` conversations one after the other, as one session that goes on for long, with one system prompt. */
export function joined(conversations: Recordings["conversations"], count: number): BaseMessage[][] {
  const sessions: BaseMessage[][] = [];
  for (let first = 0; first + count <= conversations.length || first === 0; first += count) {
    const parts = conversations.slice(first, first + count);
    sessions.push([
      ...parts.slice(0, 1).flatMap((messages) => messages.filter(isSystem)),
      ...parts.flatMap((messages) => messages.filter((message) => !isSystem(message))),
    ]);
  }
  return sessions;
}

/** True for a system message. */
export function isSystem(message: BaseMessage): boolean {
  return message.getType() === "system";
}

function read(path: string): BaseMessage[][] {
  const lines = readFileSync(path, "utf8").trim().split("\n");
  return lines.map((line) => new MessageHistory((JSON.parse(line) as { messages: never[] }).messages).toMessages());
}
