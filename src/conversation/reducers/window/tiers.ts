import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { sameElements } from "../../messages/copies/plain-answer.js";
import { roleOf } from "../../messages/message.js";
import { stepsOf } from "../../messages/steps.js";
import { countMessages, type TokenCounter } from "../../tokens/counted-messages.js";
import { reduced, unchanged } from "../chat-history-reducer.js";
import type { ChatHistoryReducer, ReducerRequest, ReductionOutcome } from "../chat-history-reducer.js";
import { type TokenBudget, ChatHistoryTokenReducer } from "../token-reducer.js";
import { clipToolResults, ChatHistoryToolResultReducer, lineWithHint, resultsOfTools } from "../tool-result-reducer.js";
import type { ClipRequest } from "../tool-result-reducer.js";
import { joinOutcomes } from "../pipe-reducers.js";
import { ChatHistorySummarizationReducer } from "../summary/summarization-reducer.js";
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
  /** True where the model has the tool that reads shortened results again. */
  readonly readsEarlier: boolean;
  readonly config: RunnableConfig | undefined;
  readonly request: ReducerRequest | undefined;
}

/** Tokens within which a tier has to bring the messages. */
type TierBudget = Pick<TokenBudget, "maxTokens" | "targetTokens">;
type Tier = (budget: TierBudget) => Pick<ChatHistoryReducer, "reduceWithOutcome">;

/** Runs the tiers until the target is met. */
export async function reduceInTiers(
  messages: BaseMessage[],
  { settings, counter, size, room, readsEarlier, config, request }: TieredReduction,
): Promise<ReductionOutcome> {
  // A share of what the fixed parts leave: a share of the whole would be nothing where these are large.
  const goal = Math.max(1, Math.floor(settings.target * size.messagesWithin(Math.min(room, size.tokens))));
  const most = Math.max(goal, size.messagesWithin(room));
  const outcomes: ReductionOutcome[] = [];
  let [current, tokens] = [messages, await countMessages(counter, messages)];
  const { placeholder = readsEarlier ? lineWithHint : undefined } = settings;
  const newSteps = stepsOf(messages.slice(lastQuestion(messages) + 1)).filter(
    ({ indexes }) => indexes.length > 1,
  ).length;
  for (const tier of tiersOf({ ...settings, placeholder }, { counter, newSteps })) {
    // A list that fits the room already must still become smaller, or the next request would be reduced again.
    const maxTokens = tokens > most ? most : Math.max(goal, Math.ceil(tokens) - 1);
    const outcome = await tier({ maxTokens, targetTokens: goal }).reduceWithOutcome(current, config, request);
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

interface TierParts {
  readonly counter: TokenCounter;
  /** Steps with results behind the newest question. */
  readonly newSteps: number;
}

/** The gentlest first. */
function tiersOf(
  { summary, keepToolResults, placeholder, excludeTools, shorten }: WindowSettings,
  { counter: tokenCounter, newSteps }: TierParts,
): readonly Tier[] {
  const shortened = {
    ...{ thresholdCount: 0, excludeTools },
    ...(placeholder !== undefined && { placeholder }),
  };
  const cut = { tokenCounter, clipToolResults: shorten === undefined };
  const summarized = (budget: TierBudget) =>
    new ChatHistorySummarizationReducer({ ...summary!, ...budget, tokenCounter, failOnError: false });
  return [
    () => new ChatHistoryToolResultReducer({ ...shortened, keepLast: keepToolResults }),
    // No message is to leave for the sake of a finished turn's result: its answer tells what mattered.
    () => new ChatHistoryToolResultReducer({ ...shortened, keepLast: Math.min(keepToolResults, newSteps) }),
    clippedTurn({ counter: tokenCounter, excluded: new Set(excludeTools), shorten }),
    ...(summary === undefined ? [] : [summarized]),
    (budget) => new ChatHistoryTokenReducer({ ...budget, ...cut }),
  ];
}

/** Characters that stay of the results of the turn that goes on, in each pass over them. */
const leastCharacters = [1_000, 1, 0] as const;

/**
 * Clips results of the turn that goes on, the oldest first, where the turn is too large by itself: its steps stay.
 * Without a way to shorten them, they keep a readable beginning.
 */
function clippedTurn({
  counter,
  excluded,
  shorten,
}: Pick<ClipRequest, "counter" | "shorten"> & { readonly excluded: ReadonlySet<string> }): Tier {
  return ({ targetTokens }) => ({
    async reduceWithOutcome(messages) {
      const question = lastQuestion(messages);
      const spared = resultsOfTools(messages, excluded);
      const isResult = (index: number) => roleOf(messages[index]!) === "tool" && !spared.has(index);
      const indexes = [...messages.keys()].filter((index) => index > question && isResult(index));
      const stays = (message: BaseMessage, index: number) =>
        index >= question || ["system", "summary"].includes(roleOf(message));
      let result = messages;
      for (const least of shorten === undefined ? leastCharacters.slice(0, 1) : leastCharacters) {
        const excess = (await countMessages(counter, result.filter(stays))) - targetTokens;
        result = await clipToolResults(result, { indexes, excess, counter, least, shorten });
      }
      const size = { messages: messages.length };
      return sameElements(result, messages)
        ? unchanged(messages, { reason: "within_limit" })
        : reduced(result, { removed: [], before: size, after: size });
    },
  });
}

function lastQuestion(messages: readonly BaseMessage[]): number {
  return messages.findLastIndex((message) => roleOf(message) === "human");
}
