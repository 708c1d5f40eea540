import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { toMessage } from "../messages/message.js";
import { ConfigurationError } from "../../base/errors.js";
import { ChatHistoryReducer } from "./chat-history-reducer.js";

/** Field of `configurable` by which a Runnable is told that its result is stored and goes to no model. */
export const storedField = "__lcmem_stored";

/** Anything with an `invoke` from messages to messages: `trimMessages(options)`, a RunnableLambda, a chain. */
export interface MessagesRunnable {
  /** The messages that stay; null where there is nothing to do. */
  invoke(messages: BaseMessage[], config?: RunnableConfig): Promise<BaseMessageLike[] | null>;
}

/** A function that reduces messages; returns null if there is nothing to do. */
export type ReducerFunction = (
  messages: BaseMessage[],
  config?: RunnableConfig,
) => BaseMessageLike[] | null | Promise<BaseMessageLike[] | null>;

/** A reducer, or a Runnable or function from messages to messages (or null). */
export type ReducerLike = ChatHistoryReducer | MessagesRunnable | ReducerFunction;

/**
 * Converts `like` to a reducer; returns a reducer as it is. A result that equals the input counts as nothing to do, and
 * unchanged messages of a result are replaced with the input's own objects if `like` copied them.
 *
 * @throws ConfigurationError if it cannot be a reducer.
 */
export function asReducer(like: ReducerLike): ChatHistoryReducer {
  if (isReducer(like)) {
    return like;
  }
  if (typeof like === "function") {
    return new ForeignReducer(like, like.name);
  }
  if (typeof (like as MessagesRunnable | undefined)?.invoke === "function") {
    return new ForeignReducer((messages, config) => {
      const configurable = { ...config?.configurable, [storedField]: true };
      return like.invoke(messages, { ...config, configurable });
    });
  }
  throw new ConfigurationError(
    "reducer",
    "A reducer must be a ChatHistoryReducer, or a Runnable or function from messages to messages.",
  );
}

// By its methods: a reducer may come from another copy of this package.
function isReducer(like: ReducerLike): like is ChatHistoryReducer {
  return typeof (like as Partial<ChatHistoryReducer> | undefined)?.reduceWithOutcome === "function";
}

class ForeignReducer extends ChatHistoryReducer {
  readonly #call: ReducerFunction;

  constructor(call: ReducerFunction, name?: string) {
    super();
    this.#call = call;
    if (name) {
      this.name = name;
    }
  }

  static override lc_name(): string {
    return "ForeignReducer";
  }

  override async reduce(messages: BaseMessage[], config?: RunnableConfig): Promise<BaseMessage[] | null> {
    const output = await this.#call([...messages], config);
    if (output === null) {
      return null;
    }
    if (!Array.isArray(output)) {
      throw new ConfigurationError(
        "reducer",
        "Reducer result is not an array; return an array of messages, or null if there is nothing to do.",
      );
    }
    // trimMessages returns [undefined] if its system message alone exceeds the budget.
    const made = output.map((like, index) => toMessage(like, { option: "reducer", list: "Reducer result", index }));
    const result = withOwnObjects(made, messages);
    return result.length === messages.length && result.every((message, index) => message === messages[index])
      ? null
      : result;
  }
}

/**
 * Replaces each message of the result with the equal message of the input; among equal ones, the newest first, from the
 * end.
 */
function withOwnObjects(result: readonly BaseMessage[], input: readonly BaseMessage[]): BaseMessage[] {
  const objects = new Set(input);
  if (result.every((message) => objects.has(message))) {
    return [...result];
  }
  const byContent = new Map<string, BaseMessage[]>();
  for (const message of input) {
    const key = contentKey(message);
    const equal = byContent.get(key) ?? [];
    byContent.set(key, equal);
    equal.push(message);
  }
  const replaced = result
    .toReversed()
    .map((message) => (objects.has(message) ? message : (byContent.get(contentKey(message))?.pop() ?? message)));
  return replaced.reverse();
}

/** Returns the same key for messages with equal content, however constructed: sorted, without empty fields. */
function contentKey(message: BaseMessage): string {
  return JSON.stringify(message.toDict(), (_, value: unknown) => {
    if (typeof value !== "object" || value === null) {
      return typeof value === "bigint" ? `${value}n` : value;
    }
    if (Array.isArray(value)) {
      return value;
    }
    const entries = Object.entries(value).filter(([, field]) => !isEmpty(field));
    return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (typeof value === "object" && Object.keys(value).length === 0);
}
