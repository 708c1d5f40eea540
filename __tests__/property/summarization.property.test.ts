import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf, summaryMarkOf } from "../../src/conversation/messages/message.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import { expectOrder, expectSystemTexts, expectWholeSteps } from "../support/cut-properties.js";
import { forAllAsync } from "../support/property-runs.js";

const conversations = fc.oneof(anyConversation(), orderlyConversation()).map((messages) => messages.map(withName));
const measures = fc.oneof(
  fc.record({ targetCount: fc.integer({ min: 1, max: 12 }), thresholdCount: fc.integer({ min: 0, max: 6 }) }),
  fc.record({ maxTokens: fc.integer({ min: 60, max: 600 }) }),
);
const cases = fc.record({ messages: conversations, measure: measures, useSingleSummary: fc.boolean() });

/** Each message says its own id, so that what the summarizer was told can be read off its request. */
function withName(message: BaseMessage): BaseMessage {
  message.content = `<${message.id}> ${message.text}`;
  return message;
}

async function summarize(given: { messages: BaseMessage[]; measure: object; useSingleSummary: boolean }) {
  const told: string[] = [];
  const model = {
    invoke: (sent: BaseMessage[]): Promise<string> => {
      told.push(sent[1]!.text);
      return Promise.resolve(`So far ${told.length}`);
    },
  };
  const tokenCounter = new CountingCounter();
  const { messages, measure, useSingleSummary } = given;
  const options = {
    model,
    ...(measure as { maxTokens: number }),
    useSingleSummary,
    tokenCounter,
    failOnError: false,
    maxSummaries: 30,
  };
  const reducer = new ChatHistorySummarizationReducer(options);
  return { reducer, told, tokenCounter, outcome: await reducer.reduceWithOutcome(messages) };
}

describe("a summarization", () => {
  it("keeps or covers every message, splits no step, and calls the model only for progress", () =>
    forAllAsync(100, cases, async (given) => {
      const { told, outcome, tokenCounter } = await summarize(given);
      const { messages: result, changed, summary } = outcome;
      expectWholeSteps(given.messages, result);
      expectSystemTexts(given.messages, result);
      const text = told.join("\n");
      const kept = new Set(result.map(({ id }) => id));
      const isTold = (message: BaseMessage): boolean => text.includes(`<${message.id}>`);
      const isSystem = (message: BaseMessage): boolean => roleOf(message) === "system";
      const lost = given.messages.filter((message) => !kept.has(message.id) && !isSystem(message) && !isTold(message));
      expect(lost).toEqual([]);
      const twice = given.messages.filter(
        (message) => changed && kept.has(message.id) && roleOf(message) !== "summary" && isTold(message),
      );
      expect(twice).toEqual([]);
      expectOrder(given.messages, result);
      if (changed && !("maxTokens" in given.measure)) {
        expect(result.length).toBeLessThan(given.messages.length);
      }
      if (changed && "maxTokens" in given.measure) {
        expect(tokenCounter.totalOf(result)).toBeLessThan(tokenCounter.totalOf(given.messages));
      }
      expect(told.length > 0 || summary === undefined).toBe(true);
    }));

  it("has nothing to do a second time, and its mark counts what it covers", () =>
    forAllAsync(100, cases, async (given) => {
      const { reducer, told, outcome } = await summarize(given);
      if (!outcome.changed) {
        return;
      }
      const calls = told.length;
      expect((await reducer.reduceWithOutcome(outcome.messages)).changed).toBe(false);
      expect(told.length).toBe(calls);
      if (outcome.summary !== undefined) {
        const covered = outcome.removed.filter((message) => !["system", "summary"].includes(roleOf(message)));
        const earlier = given.useSingleSummary
          ? given.messages.filter((message) => roleOf(message) === "summary").length
          : 0;
        expect(summaryMarkOf(outcome.summary)!.count).toBe(covered.length + earlier);
      }
    }));
});
