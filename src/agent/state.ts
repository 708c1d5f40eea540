import { randomUUID } from "node:crypto";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { mayCall } from "../messages/calls.js";
import { changeMessage } from "../messages/change-message.js";
import { roleOf } from "../messages/roles.js";
import { firstOfBlock } from "../turns/new-input.js";
import { idsOf } from "../turns/open-turn.js";
import { isHeld, utterancesOf } from "../turns/utterances.js";
import type { RunPlace } from "./run-place.js";

/** The parts of an agent's state: messages of earlier runs, the input, and messages added by this run. */
export interface StateParts {
  readonly before: readonly BaseMessage[];
  readonly input: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}

/**
 * Splits the messages of a state. With a checkpointer the turn begins where the run's input does (`first`), by default
 * with the last block of user and system messages; without one, earlier messages are a client's history and belong to
 * the input.
 */
export function splitState(
  messages: readonly BaseMessage[],
  { hasCheckpointer, first }: { readonly hasCheckpointer: boolean; readonly first?: number | undefined },
): StateParts {
  const earlier = first === undefined ? [] : withoutSummaries(messages.slice(0, first));
  const own = withoutSummaries(messages);
  const question = own.findLastIndex((message) => roleOf(message) === "human");
  if (question < 0) {
    return { before: [], input: own, after: [] };
  }
  const block = hasCheckpointer ? firstOfBlock(own, question) : 0;
  const from = first === undefined ? block : earlier.length;
  return {
    before: own.slice(0, from),
    input: own.slice(from, question + 1),
    after: own.slice(question + 1),
  };
}

/** True if the state may hold the question of the run from before: it is not the only one, or not the last message. */
export function mayBeAskedAgain(messages: readonly BaseMessage[], hasCheckpointer: boolean): boolean {
  const questions = messages.filter((message) => roleOf(message) === "human");
  return hasCheckpointer && questions.length > 0 && (questions.length > 1 || questions[0] !== messages.at(-1));
}

/** Removes summaries of LangChain's summarizationMiddleware, which replace stored messages. */
export function withoutSummaries(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter(({ additional_kwargs }) => additional_kwargs?.["lc_source"] !== "summarization");
}

/** The turn's id: the caller's, else the id of the user message, so that the same message is answered once. */
export function turnIdOf({ turnId }: RunPlace, { input }: StateParts): string | undefined {
  const last = input.at(-1);
  return turnId ?? (last !== undefined && roleOf(last) === "human" ? last.id : undefined);
}

/** Ids of a client's own copy of a stored answer behind its question: of all of it, or of the part that it got. */
export function copiesIn({ after }: StateParts, stored: readonly BaseMessage[]): string[] {
  const known = new Set(idsOf(stored));
  const copy = after.filter(({ id }) => id === undefined || !known.has(id));
  if (copy.length === 0 || known.size === 0) {
    return [];
  }
  const [held, ...others] = utterancesOf(copy);
  const [answer] = utterancesOf(stored.filter((message) => roleOf(message) === "ai"));
  const isCopy = held !== undefined && answer !== undefined && isHeld(held, answer) && others.length === 0;
  const isSpoken = (message: BaseMessage) => roleOf(message) === "ai" && !mayCall(message);
  return isCopy && copy.every(isSpoken) ? idsOf(copy) : [];
}

/**
 * The stored messages missing in a state. Copies with new ids if the state holds the ids before the user message, where
 * its reducer would put them.
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

/** LangGraph's `RemoveMessage` id for all messages of the state. */
export const removeAll = "__remove_all__";

/** The final state of a run, and the stored part of its turn. */
export interface EndOfRun {
  readonly parts: StateParts;
  readonly state: readonly BaseMessage[];
  /** Answer stored by another run of the turn, if that was first. */
  readonly answer: readonly BaseMessage[] | undefined;
  /** Steps of the earlier run that this one resumed. */
  readonly missing: readonly BaseMessage[];
}

/**
 * State update that makes the state equal to the stored turn; undefined if it is. Messages of earlier runs, which the
 * memory holds, leave the state.
 */
export function correctedState({ parts, state, answer, missing }: EndOfRun): BaseMessage[] | undefined {
  const earlier = new Set(idsOf(parts.before));
  const asked = new Set(idsOf(parts.input));
  if (answer === undefined && missing.length > 0) {
    // The steps belong before this run's messages, but the state's reducer only appends.
    const own = state.filter(({ id }) => id === undefined || !earlier.has(id));
    const last = parts.input.at(-1)?.id;
    const at = own.findLastIndex(({ id }) => id === last) + 1;
    return [new RemoveMessage({ id: removeAll }), ...own.slice(0, at), ...missing, ...own.slice(at)];
  }
  const gone = idsOf(state).filter((id) => (answer === undefined ? earlier.has(id) : !asked.has(id)));
  const update = [...gone.map((id) => new RemoveMessage({ id })), ...(answer ?? [])];
  return update.length === 0 ? undefined : update;
}
