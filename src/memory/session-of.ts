import { ConfigurationError } from "../errors.js";
import type { ConversationSession } from "./conversation-session.js";
import type { MemoryContext } from "./memory-context.js";

/** The context of each memory of this copy of the package. */
const contexts = new WeakMap<object, MemoryContext>();

/** Notes the context of a memory that is being constructed. */
export function noteContext(memory: object, context: MemoryContext): void {
  contexts.set(memory, context);
}

/** The options of a memory; undefined for an object that only looks like one. */
export function contextOf(memory: object): MemoryContext | undefined {
  return contexts.get(memory);
}

/** The session behind each history of this copy of the package. */
const sessions = new WeakMap<object, ConversationSession>();

/** Notes the session of a history that is being constructed. */
export function noteSession(history: object, session: ConversationSession): void {
  sessions.set(history, session);
}

/**
 * The session behind a history, for what works beside it: its store, its options, and reads past the history. Messages
 * are always written by the history's own `append`, which a subclass may override.
 *
 * @throws ConfigurationError `history` for an object that only looks like a history.
 */
export function sessionOf(owner: string, history: object): ConversationSession {
  const session = sessions.get(history);
  if (session === undefined) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history must be a RedisChatMessageHistory of this copy of the package, or of a subclass. ` +
        "The ES module and the CommonJS build are two copies; load one of them only.",
    );
  }
  return session;
}
