import { randomUUID } from "node:crypto";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { changeMessage } from "../messages/change-message.js";
import { roleOf } from "../messages/roles.js";
import { firstOfBlock } from "../turns/new-input.js";
import type { RunPlace } from "./run-place.js";

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

/** True where a question that is asked again may stand elsewhere than at the end; a new one stands last. */
export function mayBeAskedAgain(messages: readonly BaseMessage[], hasCheckpointer: boolean): boolean {
  const last = messages.at(-1);
  return hasCheckpointer && last !== undefined && roleOf(last) !== "human";
}

/** Without what LangChain's summarizationMiddleware wrote, which stands for messages that are stored. */
export function withoutSummaries(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter(({ additional_kwargs }) => additional_kwargs?.["lc_source"] !== "summarization");
}

/** The ids of messages. */
export function idsOf(messages: readonly BaseMessage[]): string[] {
  return messages.flatMap(({ id }) => (id === undefined ? [] : [id]));
}

/** The turn's id: the caller's, else that of the user's message, so that the same message is answered once. */
export function turnIdOf({ turnId }: RunPlace, { input }: StateParts): string | undefined {
  const last = input.at(-1);
  return turnId ?? (last !== undefined && roleOf(last) === "human" ? last.id : undefined);
}

/**
 * The stored messages that a state lacks. Copies where the state holds the ids before the user's message: its reducer
 * would put them there.
 */
export function missingIn({ before, after }: StateParts, stored: readonly BaseMessage[]): BaseMessage[] {
  const [earlier, there] = [new Set(idsOf(before)), new Set(idsOf(after))];
  return stored.flatMap((message) => {
    if (message.id !== undefined && there.has(message.id)) {
      return [];
    }
    const isEarlier = message.id !== undefined && earlier.has(message.id);
    return [isEarlier ? changeMessage(message, { id: randomUUID() }) : message];
  });
}

/** LangGraph's sign for "all messages of the state". */
export const removeAll = "__remove_all__";

/** What a run ends with, and what is stored of its turn. */
export interface EndOfRun {
  readonly parts: StateParts;
  readonly state: readonly BaseMessage[];
  /** The answer of another run that stored the turn first. */
  readonly answer: readonly BaseMessage[] | undefined;
  /** The steps of an earlier run from which this one went on. */
  readonly missing: readonly BaseMessage[];
}

/** What the state needs so that it shows the turn as it is stored; undefined where it lacks nothing. */
export function correctedState({ parts, state, answer, missing }: EndOfRun): BaseMessage[] | undefined {
  if (answer !== undefined) {
    const kept = new Set([...idsOf(parts.before), ...idsOf(parts.input)]);
    const own = idsOf(state).filter((id) => !kept.has(id));
    return [...own.map((id) => new RemoveMessage({ id })), ...answer];
  }
  if (missing.length === 0) {
    return undefined;
  }
  // The steps belong before what this run added, and a message can only be added at the end.
  const last = parts.input.at(-1)?.id;
  const at = state.findLastIndex(({ id }) => id === last) + 1;
  return [new RemoveMessage({ id: removeAll }), ...state.slice(0, at), ...missing, ...state.slice(at)];
}
