import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { mayCall } from "../../conversation/messages/calls.js";
import { roleOf } from "../../conversation/messages/roles.js";
import { idsOf } from "../../memory/turns/open-turn.js";
import type { RunPlace } from "./run-place.js";

/** The parts of an agent's state: the input, which may hold a client's history, and messages added by this run. */
export interface StateParts {
  readonly input: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}

/** Splits the messages of a state behind its question. */
export function splitState(messages: readonly BaseMessage[]): StateParts {
  const own = withoutSummaries(messages);
  const question = own.findLastIndex((message) => roleOf(message) === "human");
  const end = question < 0 ? own.length : question + 1;
  return { input: own.slice(0, end), after: own.slice(end) };
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

/** Ids of a client's own copy of a stored answer behind its question. */
export function copiesIn({ after }: StateParts, stored: readonly BaseMessage[]): string[] {
  const ids = new Set(idsOf(stored));
  const copy = after.filter(({ id }) => id === undefined || !ids.has(id));
  if (copy.length === 0 || ids.size === 0) {
    return [];
  }
  const isSpoken = (message: BaseMessage) => roleOf(message) === "ai" && !mayCall(message);
  return stored.some((message) => roleOf(message) === "ai") && copy.every(isSpoken) ? idsOf(copy) : [];
}

/** The stored messages missing in a state. */
export function missingIn({ after }: StateParts, stored: readonly BaseMessage[]): BaseMessage[] {
  const there = new Set(idsOf(after));
  return stored.filter(({ id }) => id === undefined || !there.has(id));
}

/** LangGraph's `RemoveMessage` id for all messages of the state. */
const removeAll = "__remove_all__";

/** The final state of a run, and the stored part of its turn. */
export interface EndOfRun {
  readonly parts: StateParts;
  readonly state: readonly BaseMessage[];
  /** Answer stored by another run of the turn, if that was first. */
  readonly answer: readonly BaseMessage[] | undefined;
  /** Steps of the earlier run that this one resumed. */
  readonly missing: readonly BaseMessage[];
}

/** State update that makes the state equal to the stored turn; undefined if it is. */
export function correctedState({ parts, state, answer, missing }: EndOfRun): BaseMessage[] | undefined {
  const inputIds = new Set(idsOf(parts.input));
  if (answer !== undefined) {
    const gone = idsOf(state).filter((id) => !inputIds.has(id));
    return [...gone.map((id) => new RemoveMessage({ id })), ...answer];
  }
  if (missing.length === 0) {
    return undefined;
  }
  // The steps belong before this run's messages, but the state's reducer only appends.
  const last = parts.input.at(-1)?.id;
  const at = state.findLastIndex(({ id }) => id === last) + 1;
  return [new RemoveMessage({ id: removeAll }), ...state.slice(0, at), ...missing, ...state.slice(at)];
}
