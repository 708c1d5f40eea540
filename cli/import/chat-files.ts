import type { BaseMessage } from "@langchain/core/messages";
import { basename, extname } from "node:path";
import { MemoryError } from "../../src/base/errors.js";
import { exactValueIn, isRecord } from "../../src/conversation/messages/message.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import type { OpenAIMessage } from "../../src/formats/openai/message.js";
import { DataError } from "../failure.js";
import { linesOfFile, maxLineBytes } from "../lines-of-file.js";
import { messagesOfState } from "./langgraph-state.js";
import { messagesOfChatHistory } from "./semantic-kernel.js";

/** The formats of other makers. */
export const chatFormats = ["openai", "message-history", "semantic-kernel", "langgraph"] as const;

/** One of {@link chatFormats}. */
export type ChatFormat = (typeof chatFormats)[number];

/** A conversation of a file, or what is wrong with it. */
export interface FileConversation {
  /** Counted from 1. */
  readonly line: number;
  readonly sessionId: string;
  readonly messages: readonly BaseMessage[];
  /** Set for what cannot be read; there are no messages then. */
  readonly problem?: string;
  /** Its end in the file, in bytes. */
  readonly end: number;
}

/** The conversations of a file, one after the other: one a line, or, but for `openai`, the whole file one. */
export async function* conversationsIn(path: string, format: ChatFormat): AsyncGenerator<FileConversation> {
  let conversations = 0;
  for await (const { line, value, problem, isWhole, end } of valuesIn(path, format)) {
    conversations += 1;
    const name = path === "-" ? "import" : basename(path, extname(path));
    const place = { line, sessionId: isWhole ? name : `${name}-${line}`, end };
    yield problem === undefined ? conversationOf(value, format, place) : { ...place, messages: [], problem };
  }
  if (conversations === 0) {
    throw new DataError(`${path}: the file holds no conversation.`);
  }
}

interface FileValue {
  readonly line: number;
  readonly value: unknown;
  readonly isWhole: boolean;
  readonly problem?: string;
  readonly end: number;
}

async function* valuesIn(path: string, format: ChatFormat): AsyncGenerator<FileValue> {
  const lines = linesOfFile(path);
  let whole: { number: number; texts: string[]; length: number } | undefined;
  let end = 0;
  for await (const { number, text, offset, length } of lines) {
    end = offset + length;
    const value = whole === undefined ? exactValueIn(text) : undefined;
    // A file of one value may be spread over lines; then its first line alone is none.
    if (value === undefined && whole === undefined && format !== "openai" && number === 1) {
      whole = { number, texts: [], length: 0 };
    }
    if (whole === undefined) {
      const problem = value === undefined && { problem: "the line is no JSON" };
      yield { line: number, value, isWhole: false, end, ...problem };
      continue;
    }
    whole.texts.push(text);
    whole.length += text.length;
    if (whole.length > maxLineBytes) {
      throw new DataError(`${path}: the file is one value of more than ${maxLineBytes / 1e6} MB; write one a line.`);
    }
  }
  if (whole !== undefined) {
    const value = exactValueIn(whole.texts.join("\n"));
    const problem = "the file is no JSON, and has no JSON in its first line";
    yield { line: whole.number, value, isWhole: true, end, ...(value === undefined && { problem }) };
  }
}

/** The conversation in a value of a format. */
export function conversationOf(
  value: unknown,
  format: ChatFormat,
  { sessionId: byPlace, ...place }: Pick<FileConversation, "line" | "sessionId" | "end">,
): FileConversation {
  const sessionId = namedSession(value, format) ?? byPlace;
  try {
    const messages = messagesOf(value, format);
    return messages.length > 0
      ? { ...place, sessionId, messages }
      : { ...place, sessionId, messages, problem: "the conversation holds no messages" };
  } catch (error) {
    if (error instanceof RangeError) {
      return { ...place, sessionId, messages: [], problem: "it is nested too deeply" };
    }
    if (!MemoryError.isInstance(error) && !(error instanceof DataError)) {
      throw error;
    }
    return { ...place, sessionId, messages: [], problem: error.message.replace(/\.$/, "") };
  }
}

function messagesOf(value: unknown, format: ChatFormat): BaseMessage[] {
  if (format === "langgraph") {
    return messagesOfState(value);
  }
  if (format === "semantic-kernel") {
    return new MessageHistory(messagesOfChatHistory(value)).toMessages();
  }
  const messages = Array.isArray(value) ? value : isRecord(value) ? value["messages"] : undefined;
  if (!Array.isArray(messages)) {
    throw new DataError('it must be an object with "messages", in OpenAI\'s chat format');
  }
  return new MessageHistory(messages as OpenAIMessage[]).toMessages();
}

/** The id that a conversation brings: our own field, LangGraph's thread, or the `id` of a line of a chat. */
function namedSession(value: unknown, format: ChatFormat): string | undefined {
  if (!isRecord(value)) {
    return undefined;
  }
  const configurable = isRecord(value["config"]) ? value["config"]["configurable"] : value["configurable"];
  const thread = isRecord(configurable) ? configurable["thread_id"] : undefined;
  const named = [value["sessionId"], value["session_id"], thread, value["thread_id"]];
  const id = format === "openai" || format === "message-history" ? value["id"] : undefined;
  const name = [...named, id].find((one) => (typeof one === "string" && one !== "") || Number.isFinite(one));
  return name === undefined ? undefined : String(name);
}
