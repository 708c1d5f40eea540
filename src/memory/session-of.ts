import { ConfigurationError } from "../base/errors.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { RedisChatMessageHistory, sessionIn } from "./redis-chat-message-history.js";

/** The methods of a history that write what it is given. */
type Writer = Pick<RedisChatMessageHistory, "append" | "addMessages">;

/**
 * The session behind a history, for what works beside it: its store, its options, and reads past the history. Messages
 * are always written by the history's own `append`, which a subclass may override.
 *
 * @throws ConfigurationError `history` for an object that only looks like a history, and for one that overrides
 *   `addMessages` only: what it changes would not be what is stored.
 */
export function sessionOf(owner: string, history: object): ConversationSession {
  const session = sessionIn(history);
  if (session === undefined) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history must be a RedisChatMessageHistory of this copy of the package, or of a subclass. ` +
        "The ES module and the CommonJS build are two copies; load one of them only.",
    );
  }
  const original: Writer = RedisChatMessageHistory.prototype;
  const { append, addMessages } = history as Writer;
  if (addMessages !== original.addMessages && append === original.append) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history overrides addMessages but not append, by which turns are stored. ` +
        'Override append, which addMessages calls too, or use the option "beforeStore" of the memory.',
    );
  }
  return session;
}
