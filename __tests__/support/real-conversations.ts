import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type BaseMessage, coerceMessageLikeToMessage } from "@langchain/core/messages";
import { ai, aiCalls, human, system, tool } from "./messages.js";

const recorded = join(__dirname, "../../../shared/data/airline-trajectories.jsonl");

/** Recorded conversations where they are found, and always one with parallel and repeated calls. */
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
  return existsSync(recorded) ? [own, ...readFileSync(recorded, "utf8").trim().split("\n").map(readConversation)] : [own];
}

function readConversation(line: string): BaseMessage[] {
  const { messages } = JSON.parse(line) as { messages: { role: string; content?: string }[] };
  return messages.map((message) => coerceMessageLikeToMessage({ ...message, content: message.content ?? "" } as never));
}
