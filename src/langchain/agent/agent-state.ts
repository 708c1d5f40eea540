import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "../../messages/roles.js";
import { firstOfBlock } from "../../turns/new-input.js";

/** The parts of an agent's state: what earlier runs left, what the user said, and what the run added so far. */
export interface StateParts {
  readonly before: readonly BaseMessage[];
  readonly input: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}

/**
 * Splits the messages of a state. Beside a checkpointer the turn begins with the last block of user and system
 * messages; without one, what stands before is a client's history and belongs to the input.
 */
export function splitState(messages: readonly BaseMessage[], hasCheckpointer: boolean): StateParts {
  const own = withoutSummaries(messages);
  const question = own.findLastIndex((message) => roleOf(message) === "human");
  if (question < 0) {
    return { before: [], input: own, after: [] };
  }
  const first = hasCheckpointer ? firstOfBlock(own, question) : 0;
  return {
    before: own.slice(0, first),
    input: own.slice(first, question + 1),
    after: own.slice(question + 1),
  };
}

/** Without what LangChain's summarizationMiddleware wrote, which stands for messages that are stored. */
export function withoutSummaries(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter(({ additional_kwargs }) => additional_kwargs?.["lc_source"] !== "summarization");
}

/** The ids of messages. */
export function idsOf(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap(({ id }) => (id === undefined ? [] : [id]));
}
