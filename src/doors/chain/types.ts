import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { ChainInput } from "./messages.js";

/** Structural type of an agent of `createAgent`, which is not a Runnable. */
export interface AgentLike<Output> {
  /** Runs the agent to its end. */
  invoke(state: never, config?: never): Promise<Output>;
  /** Runs the agent and streams what happens. */
  stream(state: never, config?: never): Promise<unknown>;
}

/**
 * Input of a chain with memory: the chain's own input without the history key. Without a history key, the user messages
 * may be text, a message or messages. An untyped chain accepts anything, with the key `inputMessagesKey` if that is
 * given.
 */
export type MemoryInput<Input, InputKey extends string, HistoryKey extends string> = unknown extends Input
  ? LooseInput<InputKey>
  : string extends keyof Input
    ? LooseInput<InputKey>
    : [Extract<Input, string | readonly unknown[] | BaseMessage>] extends [never]
      ? [HistoryKey] extends [never]
        ? {
            [K in keyof Input]: [InputKey] extends [never]
              ? string | BaseMessageLike | readonly BaseMessageLike[]
              : K extends InputKey
                ? string | BaseMessageLike | readonly BaseMessageLike[]
                : Input[K];
          }
        : Omit<Input, HistoryKey>
      : ChainInput;

/** An input of unknown keys, except the given one. */
export type LooseInput<InputKey extends string> = [InputKey] extends [never]
  ? ChainInput
  : | string
    | BaseMessageLike
    | readonly BaseMessageLike[]
    | (Readonly<Record<InputKey, string | BaseMessageLike | readonly BaseMessageLike[]>> &
        Readonly<Record<string, unknown>>);
