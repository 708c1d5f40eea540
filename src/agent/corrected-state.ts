import { RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { idsOf, type StateParts } from "./agent-state.js";

/** LangGraph's sign for "all messages of the state". */
const removeAll = "__remove_all__";

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
