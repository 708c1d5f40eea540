import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf } from "../../src/conversation/messages/message.js";
import { stepsOf } from "../../src/conversation/messages/steps.js";
import type { ReductionOutcome } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ContextWindow } from "../../src/conversation/reducers/window/context-window.js";
import { windowSettings } from "../../src/conversation/reducers/window/options.js";
import { ConfigurationError, contextWindow, type WindowTrigger } from "../../src/entries/index.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { expectKeptFront, expectUntouchedInput, expectWholeSteps, rest } from "../support/cut-properties.js";
import { ai, human } from "../support/messages.js";
import { forAllAsync } from "../support/property-runs.js";

const tokenCounter = new CountingCounter();

const longText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.nat(300).map((times) => "word ".repeat(times)),
);

const cases = fc.record({
  messages: fc.oneof(anyConversation({ text: longText }), orderlyConversation()),
  maxInputTokens: fc.integer({ min: 60, max: 1_500 }),
  reserve: fc.double({ min: 0, max: 0.5, noNaN: true }),
  target: fc.double({ min: 0.1, max: 1, noNaN: true }),
  keepToolResults: fc.nat(4),
  input: fc.nat(100),
});

interface Case {
  readonly messages: BaseMessage[];
  readonly maxInputTokens: number;
  readonly reserve: number;
  readonly target: number;
  readonly keepToolResults: number;
  readonly input: number;
}

const room = ({ maxInputTokens, reserve }: Case) =>
  Math.floor((maxInputTokens - Math.floor(maxInputTokens * reserve)) * 0.9);

const system = "Be brief and kind.";

const questionOf = ({ input }: Case) => human("a".repeat(input));

/** A request's tokens, by a count of its own. */
const requestTokens = (messages: readonly BaseMessage[], given: Case) =>
  tokenCounter.totalOf([...messages, human(system), questionOf(given)]);

function fit(given: Case): Promise<ReductionOutcome> {
  const { messages, maxInputTokens, reserve, target, keepToolResults } = given;
  const reserveForAnswer = Math.floor(maxInputTokens * reserve);
  const options = { maxInputTokens, reserveForAnswer, target, keepToolResults, tokenCounter };
  const request = { system, besides: [questionOf(given)] };
  return contextWindow(options).reduceWithOutcome([...messages], undefined, request);
}

async function promise(check: (outcome: ReductionOutcome, given: Case) => void | Promise<void>): Promise<void> {
  await forAllAsync(150, cases, async (given) => check(await fit(given), given));
}

describe("a context window", () => {
  it("lets no request exceed the room, or says by how much the messages that must stay exceed it", () =>
    promise(({ messages, overBudgetBy }, given) => {
      expect(overBudgetBy).toBe(Math.max(0, requestTokens(messages, given) - room(given)));
    }));

  it("leaves a request that fits as it is", () =>
    promise(({ messages, changed }, given) => {
      if (requestTokens(given.messages, given) <= room(given)) {
        expect(changed).toBe(false);
        expect(messages.every((message, index) => message === given.messages[index])).toBe(true);
      }
    }));

  it("splits no step, and keeps system messages, summaries and the newest message", () =>
    promise(({ messages: result }, { messages }) => {
      expectWholeSteps(messages, result);
      expectKeptFront(messages, result);
      expect(rest(result).at(-1)?.id).toBe(rest(messages).at(-1)?.id);
    }));

  it("removes no message as long as a result of a finished turn could be shorter", () =>
    promise(({ messages, removed }) => {
      const question = messages.findLastIndex((message) => roleOf(message) === "human");
      const results = stepsOf(messages).flatMap(({ indexes }) => indexes.slice(1));
      const isLong = (index: number) => index < question && messages[index]!.text.length > 200;
      expect(removed.length > 0 && results.some(isLong)).toBe(false);
    }));

  it("has nothing to do a second time", () =>
    promise(async ({ messages, overBudgetBy }, given) => {
      const again = await fit({ ...given, messages });
      expect(again.changed && overBudgetBy === 0).toBe(false);
    }));

  it("does not change its input", () => expectUntouchedInput(cases, fit));
});

/** More than any of the requests takes. */
const maxInputTokens = 10_000;

const whole = { maxInputTokens, reserveForAnswer: 0, safetyMargin: 0, tokenCounter };

function anyTriggers(): fc.Arbitrary<WindowTrigger[]> {
  const few = (max: number) => fc.option(fc.integer({ min: 1, max }), { nil: undefined });
  const fraction = fc.option(fc.double({ min: 0, max: 0.05, noNaN: true }), { nil: undefined });
  const named = fc
    .record({ tokens: few(400), messages: few(20), rounds: few(6), fraction })
    .map((given): WindowTrigger => {
      return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    });
  return fc.array(
    named.filter((given) => Object.keys(given).length > 0),
    { minLength: 1, maxLength: 3 },
  );
}

/** Whether a request of this size is above one of the triggers: all that it names. */
function isMet(
  triggers: readonly WindowTrigger[],
  size: { readonly tokens: number; readonly messages: number; readonly rounds: number },
): boolean {
  return triggers.some(
    ({ tokens = 0, messages = 0, rounds = 0, fraction = 0 }) =>
      size.tokens >= tokens &&
      size.messages >= messages &&
      size.rounds >= rounds &&
      size.tokens >= fraction * maxInputTokens,
  );
}

describe("a trigger of a window", () => {
  it("leaves a request as it is that fits and by which no trigger is met", async () => {
    const outcomes = { met: 0, unmet: 0 };
    await forAllAsync(
      200,
      fc.tuple(fc.oneof(anyConversation(), orderlyConversation()), anyTriggers(), fc.boolean()),
      async ([messages, triggers, single]) => {
        const chosen = single ? triggers.slice(0, 1) : triggers;
        const window = new ContextWindow(windowSettings({ ...whole, trigger: single ? chosen[0]! : chosen }));
        const measured = (await window.measure(messages))!;
        const rounds = messages.filter((message) => roleOf(message) === "human").length;
        const met = isMet(chosen, { tokens: measured.size.tokens, messages: messages.length, rounds });
        outcomes[met ? "met" : "unmet"] += 1;
        expect(window.isDue(measured, messages)).toBe(met);
        if (!met) {
          const { changed, reason } = await window.reduceWithOutcome([...messages]);
          expect([changed, reason]).toEqual([false, "within_limit"]);
        }
      },
    );
    expect(Math.min(outcomes.met, outcomes.unmet)).toBeGreaterThan(0);
  });

  it.each([{}, { tokens: 0 }, { messages: 1.5 }, { rounds: 0 }, { fraction: 2 }, { size: 3 }, "often"])(
    "names amounts: %j is refused",
    (wrong) => {
      expect(() => contextWindow({ trigger: wrong as WindowTrigger })).toThrow(ConfigurationError);
    },
  );

  it("in rounds reduces a request that fits, and is the size from which a history asks", async () => {
    const window = contextWindow({ maxInputTokens, tokenCounter, trigger: { rounds: 3 }, target: 0.5 });
    const rounds = (count: number) =>
      Array.from({ length: count }, (_, index) => [human(`Question ${index}`), ai(`Answer ${index}`)]).flat();
    expect(window.viewLimit).toMatchObject({ messages: 2 });
    expect(await window.reduce(rounds(2))).toBeNull();
    expect((await window.reduce(rounds(3)))!.length).toBeLessThan(6);
  });
});
