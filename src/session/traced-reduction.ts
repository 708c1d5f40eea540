import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda, type RunnableConfig } from "@langchain/core/runnables";
import type { ChatHistoryReducer } from "../reducers/chat-history-reducer.js";
import type { ReductionOutcome, ViewSize } from "../reducers/reduction-outcome.js";

/** What a reduction shows in a trace: sizes, no text. */
interface TracedReduction {
  readonly before: ViewSize;
  readonly after: ViewSize;
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
  await traced.invoke({ messages: messages.length }, config);
  return outcome!;
}
