import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { CallbackManager } from "@langchain/core/callbacks/manager";
import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { ChatHistoryReducer } from "../reducers/chat-history-reducer.js";
import type { ReductionOutcome, ViewSize } from "../reducers/reduction-outcome.js";

/** The fields of a run's config that name its trace. A stop of the run does not stop the reduction of what it wrote. */
export type TracePlace = Pick<RunnableConfig, "callbacks" | "metadata">;

/** Fields of a reduction in a trace: sizes, no text. */
interface TracedReduction {
  readonly before: ViewSize;
  readonly after: ViewSize;
}

/**
 * The run of LangChain in which this code is called; undefined outside of one. It is known where AsyncLocalStorage is
 * set up for LangChain, as an import of LangGraph does.
 */
export function currentRun(): RunnableConfig | undefined {
  return AsyncLocalStorageProviderSingleton.getRunnableConfig() as RunnableConfig | undefined;
}

/** The part of a config that names its trace; undefined for a run without one. */
export function traceOf(config: RunnableConfig | undefined): TracePlace | undefined {
  const { callbacks, metadata } = config ?? {};
  return callbacks === undefined ? undefined : { callbacks, ...(metadata && { metadata }) };
}

/** The class that reads a history in a run of its own, which has ended when it writes. */
const readingDoor = "RunnableWithMessageHistory";

/** Runs as tracers keep them; older versions have no `getRunById`. */
interface RunKeeper extends BaseCallbackHandler {
  getRunById?(id: string): RunNote | undefined;
  readonly runMap?: ReadonlyMap<string, RunNote>;
}

interface RunNote {
  readonly name: string;
  readonly parent_run_id?: string;
}

/**
 * The trace for what a history writes that was read in this run: that of the `RunnableWithMessageHistory` above it,
 * where a tracer knows it, because the run of the read has ended by then.
 */
export function traceOfReader(config: RunnableConfig | undefined): TracePlace | undefined {
  const place = traceOf(config);
  const manager = place?.callbacks;
  if (!(manager instanceof CallbackManager)) {
    return place;
  }
  for (const handler of manager.handlers as RunKeeper[]) {
    let id = manager.getParentRunId();
    let run = noteOf(handler, id);
    while (run !== undefined && run.name !== readingDoor) {
      id = run.parent_run_id;
      run = noteOf(handler, id);
    }
    if (run !== undefined) {
      const { handlers, inheritableHandlers, tags, inheritableTags, metadata, inheritableMetadata } = manager;
      const kept = { handlers, inheritableHandlers, tags, inheritableTags, metadata, inheritableMetadata };
      return { ...place, callbacks: new CallbackManager(id, kept) };
    }
  }
  return place;
}

function noteOf(handler: RunKeeper, id: string | undefined): RunNote | undefined {
  return id === undefined ? undefined : (handler.getRunById?.(id) ?? handler.runMap?.get(id));
}

/**
 * Runs a reducer. Within another run, this is a child run named `reduce_view`, and a summary call is a child of it; the
 * tag keeps both out of the stream of an agent's messages.
 */
export async function tracedReduction(
  reducer: ChatHistoryReducer,
  messages: readonly BaseMessage[],
  config: RunnableConfig | undefined,
): Promise<ReductionOutcome> {
  if (config?.callbacks === undefined) {
    return reducer.reduceWithOutcome([...messages], config);
  }
  let outcome: ReductionOutcome | undefined;
  const reduce = async (_: unknown, inner?: RunnableConfig): Promise<TracedReduction> => {
    outcome = await reducer.reduceWithOutcome([...messages], inner);
    const { before, after } = outcome;
    return { before, after };
  };
  const traced = RunnableLambda.from(reduce).withConfig({ runName: "reduce_view", tags: ["nostream"] });
  const run = () => traced.invoke({ messages: messages.length }, config);
  // Else the config would take what it lacks from the run in which this is called: its signal too.
  await AsyncLocalStorageProviderSingleton.runWithConfig(config, run);
  return outcome!;
}
