import {
  AIMessage,
  HumanMessage,
  isBaseMessage,
  type BaseMessage,
  type BaseMessageLike,
} from "@langchain/core/messages";
import { digestMessage } from "../codec/encode-message.js";
import { toMessage } from "../messages/message-like.js";
import { ConfigurationError } from "../errors.js";

/** What a chain with memory takes: text, a message, messages, or an object that holds one of these under a key. */
export type ChainInput = string | BaseMessageLike | readonly BaseMessageLike[] | Readonly<Record<string, unknown>>;

/**
 * The messages that an input brings: the value under `key`, else the only value, else that of `input`; text is a human
 * message.
 */
export function inputMessages(input: unknown, key: string | undefined): BaseMessage[] {
  const value = valueOf(input, key, "input");
  return messagesOf({ value, option: "inputMessagesKey", fromText: (text) => new HumanMessage(text) });
}

/**
 * The messages that an output brings: the value under `key`, else the only value, else that of `output`; text is an AI
 * message.
 */
export function outputMessages(output: unknown, key: string | undefined): BaseMessage[] {
  const generated = (output as { generations?: { message?: BaseMessage }[][] } | undefined)?.generations?.[0]?.[0]
    ?.message;
  const value = generated ?? valueOf(output, key, "output");
  return messagesOf({ value, option: "outputMessagesKey", fromText: (text) => new AIMessage(text) });
}

/**
 * The messages of an output that were not sent in: agents give back their whole list. A message counts as sent if it is
 * the same object, has the same id, or stands in the part that repeats what was sent from its beginning.
 */
export function newMessages(sent: readonly BaseMessage[], output: readonly BaseMessage[]): BaseMessage[] {
  const objects = new Set(sent);
  const ids = new Set(sent.flatMap(({ id }) => (id === undefined ? [] : [id])));
  const isKnown = (message: BaseMessage) => objects.has(message) || (message.id !== undefined && ids.has(message.id));
  let repeated = 0;
  while (repeated < sent.length && repeated < output.length) {
    const [before, after] = [sent[repeated]!, output[repeated]!];
    if (!isKnown(after) && digestMessage(before) !== digestMessage(after)) {
      break;
    }
    repeated += 1;
  }
  return output.slice(repeated === sent.length ? repeated : 0).filter((message) => !isKnown(message));
}

function valueOf(value: unknown, key: string | undefined, fallback: string): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value) || isMessageLike(value)) {
    return value;
  }
  const keys = Object.keys(value);
  const chosen = key ?? (keys.length === 1 ? keys[0]! : fallback);
  return (value as Record<string, unknown>)[chosen];
}

function messagesOf({
  value,
  option,
  fromText,
}: {
  value: unknown;
  option: string;
  fromText: (text: string) => BaseMessage;
}): BaseMessage[] {
  if (typeof value === "string") {
    return [fromText(value)];
  }
  const made = (like: unknown, index: number) => toMessage(like, { option, list: "withRedisMemory: messages", index });
  if (isMessageLike(value)) {
    return [made(value, 0)];
  }
  if (Array.isArray(value)) {
    const list: unknown[] =
      value.length === 1 && Array.isArray(value[0]) && !isMessageLike(value[0]) ? value[0] : value;
    if (list.every((element) => typeof element === "string" || isMessageLike(element))) {
      return list.map(made);
    }
  }
  const found = value === undefined ? "nothing" : "something else";
  throw new ConfigurationError(
    option,
    `withRedisMemory: expected text, a message or messages and found ${found}; ` +
      `name the key that holds them with "${option}".`,
  );
}

function isMessageLike(value: unknown): value is BaseMessageLike {
  if (typeof value !== "object" || value === null) {
    return false;
  }
  if (isBaseMessage(value)) {
    return true;
  }
  if (Array.isArray(value)) {
    return (
      value.length === 2 && typeof value[0] === "string" && typeof value[1] === "string" && knownRoles.has(value[0])
    );
  }
  return "content" in value && typeof (value as { role?: unknown }).role === "string";
}

const knownRoles = new Set(["human", "user", "ai", "assistant", "system", "developer", "tool", "placeholder"]);
