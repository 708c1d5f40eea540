import { fileURLToPath } from "node:url";
import type { BaseMessage } from "@langchain/core/messages";
import { MemoryError } from "../src/base/errors.js";
import { exactValueIn, isRecord } from "../src/conversation/messages/message.js";
import { MessageHistory } from "../src/formats/openai/message-history.js";
import type { OpenAIMessage } from "../src/formats/openai/message.js";
import { DataError } from "./failure.js";
import { linesOfFile } from "./lines-of-file.js";

/** Recorded conversations that come with the package, beside the built command. */
export function shippedConversations(): string {
  return fileURLToPath(new URL("./data/recorded-conversations.jsonl", import.meta.url));
}

/**
 * Reads conversations in OpenAI's chat format, one JSON object with `messages` a line. Empty lines are skipped.
 *
 * @throws UsageError for a file that cannot be read; DataError with the line for what is no conversation, or has no
 *   messages.
 */
export async function readConversationFile(path: string): Promise<BaseMessage[][]> {
  const conversations: BaseMessage[][] = [];
  for await (const { number, text } of linesOfFile(path)) {
    conversations.push(conversationIn(text, `${path}:${number}`));
  }
  if (conversations.length === 0) {
    throw new DataError(`${path}: the file holds no conversation.`);
  }
  return conversations;
}

function conversationIn(line: string, place: string): BaseMessage[] {
  const messages = messagesIn(line, place);
  if (messages.length === 0) {
    throw new DataError(`${place}: the conversation holds no messages.`);
  }
  try {
    return new MessageHistory(messages).toMessages();
  } catch (error) {
    throw MemoryError.isInstance(error) ? new DataError(`${place}: ${error.message}`) : error;
  }
}

function messagesIn(line: string, place: string): OpenAIMessage[] {
  const value = exactValueIn(line);
  if (value === undefined) {
    throw new DataError(`${place}: the line is no JSON.`);
  }
  const messages = Array.isArray(value) ? value : isRecord(value) ? value["messages"] : undefined;
  if (!Array.isArray(messages)) {
    throw new DataError(`${place}: the line must be an object with "messages", in OpenAI's chat format.`);
  }
  return messages as OpenAIMessage[];
}
