import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";

/**
 * The second file is not part of the repository: sixty conversations of a customer-service agent, where they are at
 * hand.
 */
const files = ["examples/data/recorded-conversations.jsonl", "../shared/data/airline-trajectories.jsonl"]
  .map((path) => join(__dirname, "../..", path))
  .filter((path) => existsSync(path));

/** The recorded conversations at hand. */
export function recordedConversations(): BaseMessage[][] {
  return files.flatMap((file) => readFileSync(file, "utf8").trim().split("\n").map(readConversation));
}

function readConversation(line: string): BaseMessage[] {
  const { messages } = JSON.parse(line) as { messages: { role: string; content?: string }[] };
  return messages.map((message) => coerceMessageLikeToMessage({ ...message, content: message.content ?? "" } as never));
}
