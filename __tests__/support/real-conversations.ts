import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { ai, aiCalls, human, system, tool } from "./messages.js";

/**
 * The second file is not part of the repository: sixty conversations of a customer-service agent, where they are at
 * hand.
 */
const files = ["examples/data/recorded-conversations.jsonl", "../shared/data/airline-trajectories.jsonl"]
  .map((path) => join(__dirname, "../..", path))
  .filter((path) => existsSync(path));

/** The recorded conversations at hand, and one with parallel and repeated calls. */
export function realConversations(): BaseMessage[][] {
  const own = [
    system("s"),
    ...[1, 2, 3, 4].flatMap((round) => [
      human(`q${round}`),
      aiCalls(`a${round}`, `b${round}`),
      tool(`b${round}`),
      tool(`a${round}`),
      aiCalls(`c${round}`),
      tool(`c${round}`),
      ai(`answer ${round}`),
    ]),
  ];
  return [own, ...recordedConversations()];
}

/** The recorded conversations at hand. */
export function recordedConversations(): BaseMessage[][] {
  return files.flatMap((file) => readFileSync(file, "utf8").trim().split("\n").map(readConversation));
}

function readConversation(line: string): BaseMessage[] {
  const { messages } = JSON.parse(line) as { messages: { role: string; content?: string }[] };
  return messages.map((message) => coerceMessageLikeToMessage({ ...message, content: message.content ?? "" } as never));
}
