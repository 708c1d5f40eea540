import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { splitsStep, stepsOf } from "../../src/conversation/messages/steps.js";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { contextWindow } from "../../src/conversation/reducers/window/context-window.js";
import type { ReductionOutcome } from "../../src/conversation/reducers/reduction-outcome.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { expectUntouchedInput, rest } from "../support/cut-properties.js";
import { human } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

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
  await fc.assert(
    fc.asyncProperty(cases, async (given) => check(await fit(given), given)),
    { numRuns: propertyRuns(150) },
  );
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
      expect(splitsStep({ before: messages, after: result })).toBe(false);
      const texts = (list: readonly BaseMessage[], role: string) =>
        new Set(list.filter((message) => roleOf(message) === role).map(({ text }) => text));
      for (const role of ["system", "summary"]) {
        expect(texts(result, role)).toEqual(texts(messages, role));
      }
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
