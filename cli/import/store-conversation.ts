import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage } from "../../src/store/codec/encode-message.js";
import { ownIdOf } from "../../src/conversation/messages/message.js";
import { ConflictError, RecordError } from "../../src/base/errors.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { shortHash } from "../../src/base/ids.js";

const pageSize = 500;

/**
 * Stores a conversation as a new session, in one write. Where the session is there with the same messages, nothing is
 * written. Messages without ids get ones that are the same each time.
 *
 * @throws ConflictError `exists` for a session with other messages; RecordError, StoreError.
 */
export async function storeConversation(
  memory: RedisChatMemory,
  sessionId: string,
  messages: readonly BaseMessage[],
): Promise<"imported" | "unchanged"> {
  const history = memory.history(sessionId);
  const named = messages.map((message, index) => withId(message, sessionId, index));
  if (new Set(named.map(({ id }) => id)).size < named.length) {
    throw new RecordError("Two of its messages have the same id.", { code: "unsupported_message" });
  }
  const { messages: stored } = await history.stats();
  if (stored === 0) {
    await history.append(named, { expectedNext: 0 });
    return "imported";
  }
  for (let from = 0; from < named.length; from += pageSize) {
    const page = await history.getTranscript({ from, limit: pageSize });
    const isSame = named.slice(from, from + pageSize).every((message, index) => isEqual(message, page[index]));
    if (stored !== named.length || !isSame) {
      throw new ConflictError("The session exists with other messages; delete it first, or use another --prefix.", {
        code: "exists",
        sessionId,
      });
    }
  }
  return "unchanged";
}

function withId(message: BaseMessage, sessionId: string, index: number): BaseMessage {
  if (ownIdOf(message) === undefined) {
    message._updateId(`import:${shortHash(JSON.stringify([sessionId, index]), 22)}`);
  }
  return message;
}

function isEqual(message: BaseMessage, stored: BaseMessage | undefined): boolean {
  return stored !== undefined && stored.id === message.id && digestMessage(stored) === digestMessage(message);
}
