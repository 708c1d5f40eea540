import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { countMessages } from "../../tokens/counted-messages.js";
import type { TokenCounter } from "../../tokens/token-counter.js";
import type { ChatHistoryReducer } from "../chat-history-reducer.js";
import { joinOutcomes } from "../pipe-reducers.js";
import type { ReductionOutcome } from "../reduction-outcome.js";
import { ChatHistorySummarizationReducer } from "../summary/summarization-reducer.js";
import { ChatHistoryTokenReducer } from "../token-reducer.js";
import { ChatHistoryToolResultReducer } from "../tool-result-reducer.js";
import type { WindowSettings } from "./options.js";
import type { RequestSize } from "./request-size.js";

// The reducers behind a window: loaded with the first request that exceeds it.

/** A request that is too large, and how to make it smaller. */
export interface TieredReduction {
  readonly settings: WindowSettings;
  readonly counter: TokenCounter;
  readonly size: RequestSize;
  /** Tokens that the request may take. */
  readonly room: number;
  readonly config: RunnableConfig | undefined;
}

/** Tokens within which a tier has to bring the messages. */
interface TierBudget {
  readonly maxTokens: number;
  readonly targetTokens: number;
}

/** Runs the tiers until the target is met. */
export async function reduceInTiers(
  messages: BaseMessage[],
  { settings, counter, size, room, config }: TieredReduction,
): Promise<ReductionOutcome> {
  const goal = Math.max(1, size.messagesWithin(settings.target * Math.min(room, size.tokens)));
  const most = Math.max(goal, size.messagesWithin(room));
  const outcomes: ReductionOutcome[] = [];
  let [current, tokens] = [messages, await countMessages(counter, messages)];
  for (const tier of tiersOf(settings, counter)) {
    // A list that fits the room already must still become smaller, or the next request would be reduced again.
    const maxTokens = tokens > most ? most : Math.max(goal, Math.ceil(tokens) - 1);
    const outcome = await tier({ maxTokens, targetTokens: goal }).reduceWithOutcome(current, config);
    outcomes.push(outcome);
    current = outcome.messages;
    tokens = await countMessages(counter, current);
    if (tokens <= goal) {
      break;
    }
  }
  const overBudgetBy = Math.max(0, Math.ceil(tokens - size.messagesWithin(room)));
  return joinOutcomes(messages, { outcomes, overBudgetBy, counter });
}

/** The gentlest first. */
function tiersOf(
  { summary, keepToolResults, placeholder, excludeTools }: WindowSettings,
  tokenCounter: TokenCounter,
): readonly ((budget: TierBudget) => ChatHistoryReducer)[] {
  const shortened = { keepLast: keepToolResults, thresholdCount: 0, excludeTools };
  const summarized = (budget: TierBudget) =>
    new ChatHistorySummarizationReducer({ ...summary!, ...budget, tokenCounter, failOnError: false });
  return [
    () => new ChatHistoryToolResultReducer({ ...shortened, ...(placeholder !== undefined && { placeholder }) }),
    ...(summary === undefined ? [] : [summarized]),
    (budget) => new ChatHistoryTokenReducer({ ...budget, tokenCounter }),
  ];
}
