import { readFileSync } from "node:fs";
import type { BaseMessage } from "@langchain/core/messages";
import { MessageHistory } from "langchain-redis-memory/openai";

/** A recorded conversation as the turns that an application would see: what comes in, and what the agent adds. */
export interface RecordedConversation {
  readonly id: string;
  readonly turns: readonly { readonly input: BaseMessage[]; readonly output: BaseMessage[] }[];
}

/** Input that cannot be used; the message says what is wrong, and where. */
export class InputError extends Error {}

/**
 * Reads one conversation a line, in OpenAI's chat format.
 *
 * @throws InputError for a file or a line that holds no conversation.
 */
export function readConversations(path: string): RecordedConversation[] {
  const conversations = linesOf(path).flatMap((line, index) => {
    return line.trim() === "" ? [] : [conversationIn(line, `${path}, line ${index + 1}`, index)];
  });
  if (conversations.length === 0) {
    throw new InputError(`${path}: the file holds no conversation.`);
  }
  return conversations;
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n");
  } catch (error) {
    throw new InputError(`${path}: the file cannot be read (${(error as NodeJS.ErrnoException).code}).`);
  }
}

function conversationIn(line: string, place: string, index: number): RecordedConversation {
  let value: { id?: unknown; messages?: unknown } | null;
  try {
    value = JSON.parse(line) as typeof value;
  } catch {
    throw new InputError(`${place}: the line is no JSON.`);
  }
  const { id = `conversation-${index + 1}`, messages } = value ?? {};
  if (typeof id !== "string" || id === "" || !Array.isArray(messages) || messages.length === 0) {
    throw new InputError(`${place}: the line must be { "id": …, "messages": [ … ] } with at least one message.`);
  }
  try {
    return { id, turns: turnsOf(new MessageHistory(messages as never[]).toMessages()) };
  } catch (error) {
    throw new InputError(`${place}: ${(error as Error).message}`);
  }
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
