import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import {
  ChatHistoryRoundReducer,
  ChatHistorySummarizationReducer,
  ChatHistoryTokenReducer,
  ChatHistoryToolResultReducer,
  ChatHistoryTruncationReducer,
  ConfigurationError,
  contextWindow,
  type ChatHistoryReducer,
  type WindowTrigger,
} from "../../src/entries/index.js";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { countMessages } from "../../src/conversation/tokens/counted-messages.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

/** The option of each reducer. */
interface TriggerOptions {
  readonly trigger?: WindowTrigger | readonly WindowTrigger[];
}

const tokenCounter = new CountingCounter();
const maxTokens = 120;
const failOnError = false;
const model = { invoke: () => Promise.resolve("So far.") };

/** Each reducer, the tokens that a fraction is a share of, and whether it has those. */
const reducers: Readonly<Record<string, { make: (options: TriggerOptions) => ChatHistoryReducer; full?: number }>> = {
  truncation: { make: (options) => new ChatHistoryTruncationReducer({ targetCount: 3, tokenCounter, ...options }) },
  rounds: { make: (options) => new ChatHistoryRoundReducer({ targetRounds: 2, tokenCounter, ...options }) },
  tokens: { make: (options) => new ChatHistoryTokenReducer({ maxTokens, tokenCounter, ...options }), full: maxTokens },
  "tool results": {
    make: (options) =>
      new ChatHistoryToolResultReducer({ keepLast: 0, thresholdCount: 0, maxCharacters: 1, tokenCounter, ...options }),
  },
  "summary by count": {
    make: (options) =>
      new ChatHistorySummarizationReducer({
        model,
        targetCount: 3,
        thresholdCount: 0,
        tokenCounter,
        failOnError,
        ...options,
      }),
  },
  "summary by tokens": {
    make: (options) => new ChatHistorySummarizationReducer({ model, maxTokens, tokenCounter, failOnError, ...options }),
    full: maxTokens,
  },
};

const amount = fc.option(fc.integer({ min: 1, max: 400 }), { nil: undefined });
const share = fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: undefined });

function anyTriggers(hasFraction: boolean): fc.Arbitrary<WindowTrigger[]> {
  const few = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
  const fields = { tokens: amount, messages: few(20), rounds: few(6) };
  const drawn: fc.Arbitrary<object> = hasFraction ? fc.record({ ...fields, fraction: share }) : fc.record(fields);
  const named = drawn.map((given) =>
    Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  );
  return fc.array(
    named.filter((given) => Object.keys(given).length > 0),
    { minLength: 1, maxLength: 3 },
  );
}

/** Whether a list of this size is above one of the triggers: all that it names. */
function isMet(
  triggers: readonly WindowTrigger[],
  size: Omit<Required<WindowTrigger>, "fraction"> & { full: number },
): boolean {
  return triggers.some(
    ({ tokens = 0, messages = 0, rounds = 0, fraction = 0 }) =>
      size.tokens >= tokens &&
      size.messages >= messages &&
      size.rounds >= rounds &&
      size.tokens >= fraction * size.full,
  );
}

const told = (messages: readonly BaseMessage[]) =>
  messages.map((message) => [message.getType(), message.content, message.additional_kwargs]);

describe.each(Object.entries(reducers))("a trigger of the reducer by %s", (_, { make, full }) => {
  it("leaves a view as it is that it is not met by, and every other one to the reducer", async () => {
    const outcomes = { met: 0, unmet: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(anyConversation(), orderlyConversation()),
        anyTriggers(full !== undefined),
        fc.boolean(),
        async (messages, triggers, single) => {
          const trigger = single ? triggers.slice(0, 1) : triggers;
          const reducer = make({ trigger: single ? trigger[0]! : trigger });
          const outcome = await reducer.reduceWithOutcome([...messages]);
          const tokens = await countMessages(tokenCounter, messages);
          const rounds = messages.filter((message) => roleOf(message) === "human").length;
          if (isMet(trigger, { tokens, messages: messages.length, rounds, full: full ?? 0 })) {
            outcomes.met += 1;
            const plain = await make({}).reduceWithOutcome([...messages]);
            expect([outcome.changed, outcome.reason]).toEqual([plain.changed, plain.reason]);
            expect(told(outcome.messages)).toEqual(told(plain.messages));
          } else {
            outcomes.unmet += 1;
            expect([outcome.changed, outcome.reason]).toEqual([false, "within_limit"]);
            outcome.messages.forEach((message, index) => expect(message).toBe(messages[index]));
            expect(outcome.messages).toHaveLength(messages.length);
          }
        },
      ),
      { numRuns: propertyRuns(100) },
    );
    expect(Math.min(outcomes.met, outcomes.unmet)).toBeGreaterThan(0);
  });

  it("must be one that the reducer can measure", () => {
    const refused = (trigger: unknown) => () => make({ trigger: trigger as WindowTrigger });
    for (const wrong of [{}, { tokens: 0 }, { messages: 1.5 }, { rounds: 0 }, { fraction: 2 }, { size: 3 }, "often"]) {
      expect(refused(wrong)).toThrow(ConfigurationError);
      expect(() => contextWindow({ trigger: wrong as WindowTrigger })).toThrow(ConfigurationError);
    }
    const withFraction = expect(refused({ fraction: 0.5 }));
    if (full === undefined) {
      withFraction.toThrow(/requires "maxTokens"/);
    } else {
      withFraction.not.toThrow();
    }
  });
});

describe("a trigger in rounds of a window", () => {
  it("reduces a request that fits, and is the size from which a history asks", async () => {
    const window = contextWindow({ maxInputTokens: 10_000, tokenCounter, trigger: { rounds: 3 }, target: 0.5 });
    const rounds = (count: number) =>
      Array.from({ length: count }, (_, index) => [human(`Question ${index}`), ai(`Answer ${index}`)]).flat();
    expect(window.viewLimit).toMatchObject({ messages: 2 });
    expect(await window.reduce(rounds(2))).toBeNull();
    expect((await window.reduce(rounds(3)))!.length).toBeLessThan(6);
  });
});

describe("a trigger in tokens", () => {
  it.each([
    () => new ChatHistoryTruncationReducer({ targetCount: 3, trigger: { tokens: 9 } }),
    () => new ChatHistoryToolResultReducer({ keepLast: 3, trigger: [{ messages: 3 }, { tokens: 9 }] }),
    () => new ChatHistorySummarizationReducer({ model, targetCount: 3, trigger: { tokens: 9 } }),
  ])("needs a counter where the reducer has none", (make) => {
    expect(make).toThrow(/"trigger" require "tokenCounter"/);
  });
});
