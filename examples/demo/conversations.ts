import { readFileSync } from "node:fs";
import type { BaseMessage } from "@langchain/core/messages";
import { MessageHistory } from "langchain-redis-memory";

/** A recorded conversation as the turns that an application would see: what comes in, and what the agent adds. */
export interface RecordedConversation {
  readonly id: string;
  readonly turns: readonly { readonly input: BaseMessage[]; readonly output: BaseMessage[] }[];
}

/** Reads one conversation a line, in OpenAI's chat format. */
export function readConversations(path: string): RecordedConversation[] {
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "");
  return lines.map((line, index) => {
    const { id = `conversation-${index + 1}`, messages } = JSON.parse(line) as { id?: string; messages: never[] };
    return { id, turns: turnsOf(new MessageHistory(messages).toMessages()) };
  });
}

/**
 * A turn begins with what the user says (and the system message before it) and ends before the next thing the user
 * says.
 */
function turnsOf(messages: readonly BaseMessage[]): RecordedConversation["turns"] {
  const turns: { input: BaseMessage[]; output: BaseMessage[] }[] = [];
  for (const message of messages) {
    const comesIn = ["human", "system"].includes(message.getType());
    const current = turns[turns.length - 1];
    if (current === undefined || (comesIn && current.output.length > 0)) {
      turns.push(comesIn ? { input: [message], output: [] } : { input: [], output: [message] });
    } else {
      (comesIn ? current.input : current.output).push(message);
    }
  }
  return turns;
}
