import type { BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatHistorySummarizationReducer } from "../../../src/conversation/reducers/summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryTruncationReducer } from "../../../src/conversation/reducers/truncation-reducer.js";
import { approximateCounter } from "../../../src/conversation/tokens/counters/approximate-counter.js";
import type { ReducerLike } from "../../../src/conversation/reducers/as-reducer.js";
import { hashOf } from "../../testkit/random.js";
import type { JournalWriter } from "../journal/journal-writer.js";
import type { ReducerKind } from "../plan/session-plan.js";
import { summaryModel } from "./scripted-models.js";

/** The reducer of a kind; undefined where the view stays whole. */
export function reducerOf(kind: ReducerKind, journal: JournalWriter): ReducerLike | undefined {
  const summaries = { model: summaryModel(journal), targetCount: 10, thresholdCount: 6, timeout: 10_000 };
  switch (kind) {
    case "none":
      return undefined;
    case "truncation":
      return new ChatHistoryTruncationReducer({ targetCount: 12, thresholdCount: 6 });
    case "tokens":
      return new ChatHistoryTokenReducer({ maxTokens: 900, targetTokens: 500, tokenCounter: approximateCounter() });
    case "summary":
      return new ChatHistorySummarizationReducer(summaries);
    case "summaries":
      return new ChatHistorySummarizationReducer({ ...summaries, useSingleSummary: false, maxSummaries: 3 });
    case "foreign":
      return RunnableLambda.from((messages: BaseMessage[]) => careless(messages));
  }
}

/**
 * A reducer of somebody's own that looks at nothing: often it leaves a call without its result, and is refused. It goes
 * by texts: ids that the package gives depend on what the process wrote before, and simulations have to be repeatable.
 */
function careless(messages: BaseMessage[]): BaseMessage[] {
  if (messages.length < 20) {
    return messages;
  }
  const last = messages.slice(-14);
  const first = last.findIndex((message) => message.getType() === "human");
  return last
    .slice(Math.max(0, first))
    .filter((message) => message.getType() !== "tool" || hashOf(message.text) % 2 === 0);
}
