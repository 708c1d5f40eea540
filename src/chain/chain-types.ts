import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import type { ChainInput } from "./chain-messages.js";

/** An agent of LangChain's `createAgent`, which is not a Runnable. */
export interface AgentLike<Output> {
  /** Runs the agent to its end. */
  invoke(state: never, config?: never): Promise<Output>;
  /** Runs the agent and streams what happens. */
  stream(state: never, config?: never): Promise<unknown>;
}

/**
 * What a chain with memory takes: the chain's own input, less the key under which it gets the history. Without such a
 * key, what the user said may be text, a message or messages. A chain that does not say what it takes may be given
 * anything, with the key `inputMessagesKey` where that is named.
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

/** An input whose keys are not known, but for the one that was named. */
export type LooseInput<InputKey extends string> = [InputKey] extends [never]
  ? ChainInput
  : | string
    | BaseMessageLike
    | readonly BaseMessageLike[]
    | (Readonly<Record<InputKey, string | BaseMessageLike | readonly BaseMessageLike[]>> &
        Readonly<Record<string, unknown>>);
