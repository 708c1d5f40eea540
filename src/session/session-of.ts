import { ConfigurationError } from "../base/errors.js";
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

/** The methods of a history that write what it is given. */
interface Writer {
  readonly append: unknown;
  readonly addMessages: unknown;
}

/** The session behind each history of this copy of the package, and the methods that a subclass may override. */
const sessions = new WeakMap<object, { readonly session: ConversationSession; readonly original: Writer }>();

/** Notes the session of a history that is being constructed. */
export function noteSession(history: object, session: ConversationSession, original: Writer): void {
  sessions.set(history, { session, original });
}

/**
 * The session behind a history, for what works beside it: its store, its options, and reads past the history. Messages
 * are always written by the history's own `append`, which a subclass may override.
 *
 * @throws ConfigurationError `history` for an object that only looks like a history, and for one that overrides
 *   `addMessages` only: what it changes would not be what is stored.
 */
export function sessionOf(owner: string, history: object): ConversationSession {
  const noted = sessions.get(history);
  if (noted === undefined) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history must be a RedisChatMessageHistory of this copy of the package, or of a subclass. ` +
        "The ES module and the CommonJS build are two copies; load one of them only.",
    );
  }
  const { original } = noted;
  const { append, addMessages } = history as Writer;
  if (addMessages !== original.addMessages && append === original.append) {
    throw new ConfigurationError(
      "history",
      `${owner}: the history overrides addMessages but not append, by which turns are stored. ` +
        'Override append, which addMessages calls too, or use the option "beforeStore" of the memory.',
    );
  }
  return noted.session;
}
