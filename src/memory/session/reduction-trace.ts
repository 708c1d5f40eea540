import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type {
  ChatHistoryReducer,
  ReducerRequest,
  ReductionOutcome,
} from "../../conversation/reducers/chat-history-reducer.js";

/**
 * The fields of a run's config for tracing; without the signal, because stopping the run must not stop the reduction of
 * its writes.
 */
export type TracePlace = Pick<RunnableConfig, "callbacks" | "metadata">;

/**
 * The current LangChain run; undefined outside of one. Known if LangChain's AsyncLocalStorage is set up, as by an
 * import of LangGraph.
 */
export function currentRun(): RunnableConfig | undefined {
  return AsyncLocalStorageProviderSingleton.getRunnableConfig() as RunnableConfig | undefined;
}

/** The tracing part of a config; undefined for a run without one. */
export function traceOf(config: RunnableConfig | undefined): TracePlace | undefined {
  const { callbacks, metadata } = config ?? {};
  return callbacks === undefined ? undefined : { callbacks, ...(metadata && { metadata }) };
}

/**
 * Runs a reducer. Within another run, this is a child run named `reduce_view`, and a summary call is a child of it; the
 * tag keeps both out of the stream of an agent's messages.
 */
export async function tracedReduction(
  reducer: ChatHistoryReducer,
  messages: readonly BaseMessage[],
  config: RunnableConfig | undefined,
  request?: ReducerRequest,
): Promise<ReductionOutcome> {
  if (config?.callbacks === undefined) {
    return reducer.reduceWithOutcome([...messages], config, request);
  }
  let outcome: ReductionOutcome | undefined;
  // Sizes, no text.
  const reduce = async (_: unknown, inner?: RunnableConfig): Promise<Pick<ReductionOutcome, "before" | "after">> => {
    outcome = await reducer.reduceWithOutcome([...messages], inner, request);
    const { before, after } = outcome;
    return { before, after };
  };
  const traced = RunnableLambda.from(reduce).withConfig({ runName: "reduce_view", tags: ["nostream"] });
  const run = () => traced.invoke({ messages: messages.length }, config);
  // Otherwise missing fields, such as the signal, would be inherited from the current run.
  await AsyncLocalStorageProviderSingleton.runWithConfig(config, run);
  return outcome!;
}
