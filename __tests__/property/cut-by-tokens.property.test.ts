import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf } from "../../src/conversation/messages/message.js";
import { clipMarker } from "../../src/conversation/reducers/tool-result-reducer.js";
import type { ReductionOutcome } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { CountingCounter } from "../support/counting-counter.js";
import {
  expectKeptFront,
  expectOrder,
  expectQuestionFirst,
  expectUntouchedInput,
  expectWholeSteps,
  rest,
} from "../support/cut-properties.js";
import { propertyRuns } from "../support/property-runs.js";

const runs = { numRuns: propertyRuns(120) };
const tokenCounter = new CountingCounter();
const longText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.nat(120).map((times) => "word 한글 👩‍👩‍👧‍👦 e\u0301".repeat(times)),
  fc.nat(300).map((times) => "word ".repeat(times)),
);
const conversations = fc.oneof(anyConversation({ text: longText }), orderlyConversation());
const share = fc.double({ min: 0.1, max: 1, noNaN: true });
const cases = fc.record({ messages: conversations, maxTokens: fc.integer({ min: 1, max: 900 }), share });

interface Case {
  readonly messages: BaseMessage[];
  readonly maxTokens: number;
  readonly share: number;
}

async function cut({ messages, maxTokens, share }: Case): Promise<ReductionOutcome> {
  const targetTokens = Math.max(1, Math.floor(maxTokens * share));
  return new ChatHistoryTokenReducer({ maxTokens, targetTokens, tokenCounter }).reduceWithOutcome(messages);
}

async function promise(check: (outcome: ReductionOutcome, given: Case) => void | Promise<void>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(cases, async (given) => check(await cut(given), given)),
    runs,
  );
}

const idsOf = (messages: readonly BaseMessage[]): string[] => messages.map(({ id }) => id!);

describe("a cut by tokens", () => {
  it("fits the budget or reports by how much it exceeds it", () =>
    promise((outcome, { messages, maxTokens }) => {
      const total = tokenCounter.totalOf(outcome.messages);
      expect(outcome.overBudgetBy).toBe(Math.max(0, total - maxTokens));
      expect([outcome.before.tokens, outcome.after.tokens]).toEqual([tokenCounter.totalOf(messages), total]);
      expect(
        outcome.changed
          ? total < outcome.before.tokens!
          : outcome.messages.every((message, index) => message === messages[index]),
      ).toBe(true);
    }));

  it("splits no step, creates no orphan and keeps order", () =>
    promise(({ messages: result }, { messages }) => {
      expectWholeSteps(messages, result);
      expectOrder(messages, result);
    }));

  it("keeps system messages, summaries and the newest messages, and begins with a human message if possible", () =>
    promise(({ messages: result }, { messages }) => {
      expectKeptFront(messages, result);
      expectQuestionFirst(messages, result);
      expect(rest(result).at(-1)?.id).toBe(rest(messages).at(-1)?.id);
    }));

  it("changes only tool results, and only shortens them", () =>
    promise(({ messages: result }, { messages }) => {
      for (const message of result.filter((kept) => !messages.includes(kept))) {
        const original = messages.find(({ id }) => id === message.id)!;
        expect(roleOf(message)).toBe("tool");
        expect(message.text.length).toBeLessThan(original.text.length);
        expect(message.text.endsWith(clipMarker)).toBe(true);
        const start = message.text.slice(0, -clipMarker.length);
        expect(original.text.startsWith(start)).toBe(true);
        expect(/[\ud800-\udbff]$/.test(start)).toBe(false);
      }
    }));

  it("reports exactly the messages that are missing as removed", () =>
    promise(({ messages: result, removed }, { messages }) => {
      expect(idsOf(removed)).toEqual(idsOf(messages).filter((id) => !idsOf(result).includes(id)));
    }));

  it("has nothing to do a second time", () =>
    promise(async (outcome, given) => {
      const again = await cut({ ...given, messages: outcome.messages });
      expect(again.changed).toBe(false);
    }));

  it("keeps no less, and no shorter texts, with a larger budget", async () => {
    const pairs = fc.record({
      messages: conversations,
      share,
      small: fc.integer({ min: 1, max: 600 }),
      more: fc.integer({ min: 1, max: 300 }),
    });
    await fc.assert(
      fc.asyncProperty(pairs, async ({ messages, small, more, ...same }) => {
        const [less, rather] = [
          await cut({ ...same, messages, maxTokens: small }),
          await cut({ ...same, messages, maxTokens: small + more }),
        ];
        const kept = new Map(rather.messages.map((message) => [message.id, message.text.length]));
        for (const message of rest(less.messages)) {
          expect(kept.get(message.id)).toBeGreaterThanOrEqual(message.text.length);
        }
      }),
      runs,
    );
  });

  it("does not change its input", () => expectUntouchedInput(cases, cut));
});
