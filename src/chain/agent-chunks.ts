import { isBaseMessage, type BaseMessage, type BaseMessageChunk } from "@langchain/core/messages";
import { isRecord } from "../messages/values.js";

/**
 * The messages in a chunk of an agent's stream: what its nodes add (stream mode `updates`), or a message or a part of
 * one beside its metadata (`messages`). Undefined for a chunk of another kind.
 */
export function agentMessages(chunk: unknown): BaseMessage[] | undefined {
  if (Array.isArray(chunk)) {
    const [message, metadata] = chunk as unknown[];
    const isPart = chunk.length === 2 && isBaseMessage(message) && isRecord(metadata) && !isBaseMessage(metadata);
    return isPart ? [message] : undefined;
  }
  if (!isRecord(chunk) || isBaseMessage(chunk)) {
    return undefined;
  }
  const lists = Object.values(chunk).map((update) => (isRecord(update) ? update["messages"] : undefined));
  const isUpdate = lists.length > 0 && lists.every((list) => Array.isArray(list) && list.every(isBaseMessage));
  return isUpdate ? (lists as BaseMessage[][]).flat() : undefined;
}

/** Adds messages to those of the chunks before; parts of one message are joined. */
export function joinMessages(all: BaseMessage[], more: readonly BaseMessage[]): void {
  for (const message of more) {
    const last = all.at(-1);
    const isPart = last !== undefined && message.id !== undefined && message.id === last.id;
    if (isPart && "concat" in last) {
      all[all.length - 1] = (last as BaseMessageChunk).concat(message as never);
    } else if (!isPart) {
      all.push(message);
    }
  }
}
