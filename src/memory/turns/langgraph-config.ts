import type { RunnableConfig } from "@langchain/core/runnables";

// Fields of a run's config that LangGraph keeps to itself, read here only: see decision 18. In a version without them,
// each reads as absent.

type Config = Pick<RunnableConfig, "configurable">;

/** The method by which a checkpointer stores the writes of tasks. */
export type PutWrites = (
  config: { readonly configurable?: Readonly<Record<string, unknown>> },
  writes: readonly (readonly [string, unknown])[],
  ...rest: unknown[]
) => unknown;

/** The checkpointer of the graph's run; undefined for a run without one. */
export function checkpointerOf({ configurable }: Config): { readonly putWrites?: PutWrites } | undefined {
  const checkpointer: unknown = configurable?.["__pregel_checkpointer"];
  return typeof checkpointer === "object" && checkpointer !== null ? checkpointer : undefined;
}

/** The signal of the graph's call, which also `stream.cancel()` aborts; undefined for older versions. */
export function callSignal({ configurable }: Config): AbortSignal | undefined {
  const signals = configurable?.["__pregel_abort_signals"] as { externalAbortSignal?: AbortSignal } | undefined;
  return signals?.externalAbortSignal;
}

/** True for the config of a graph in a task of another one. */
export function isInTask({ configurable }: Config): boolean {
  return configurable?.["__pregel_task_id"] !== undefined;
}
