import { AsyncLocalStorage } from "node:async_hooks";

// A graph that waits for a human says so in its checkpoint, in every mode of its stream; in its stream only in some.

type Writes = readonly (readonly [channel: string, value: unknown])[];

/** LangGraph's channel of interrupts. */
const interrupts = "__interrupt__";

const listening = new AsyncLocalStorage<() => void>();

/** Runs work, and calls back where a graph in it asks a human. */
export function hearingQuestions<Result>(onQuestion: () => void, work: () => Result): Result {
  return listening.run(onQuestion, work);
}

/** True where somebody hears of questions. */
export function isHeard(): boolean {
  return listening.getStore() !== undefined;
}

/** A task of a graph wrote this into its checkpoint. */
export function tellQuestions(writes: Writes): void {
  if (writes.some(([channel]) => channel === interrupts)) {
    listening.getStore()?.();
  }
}
