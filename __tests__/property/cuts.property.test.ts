import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf } from "../../src/conversation/messages/message.js";
import { findBoundaries } from "../../src/conversation/messages/steps.js";
import {
  ChatHistoryRoundReducer,
  ChatHistoryTruncationReducer,
} from "../../src/conversation/reducers/truncation-reducer.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import {
  expectKeptFront,
  expectOrder,
  expectQuestionFirst,
  expectUntouchedInput,
  expectWholeSteps,
  rest,
} from "../support/cut-properties.js";
import { forAllAsync, propertyRuns } from "../support/property-runs.js";
import { clipMarker } from "../../src/conversation/reducers/tool-result-reducer.js";
import type { ReductionOutcome } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";

const runs = { numRuns: propertyRuns(200) };

interface Case {
  readonly messages: BaseMessage[];
  readonly target: number;
  readonly threshold: number;
}

type Cut = Omit<Case, "messages">;

/** Each reducer that cuts to a number, and the number of a list. */
const reducers = {
  count: {
    make: ({ target, threshold }: Cut) =>
      new ChatHistoryTruncationReducer({ targetCount: target, thresholdCount: threshold }),
    most: 14,
  },
  rounds: {
    make: ({ target, threshold }: Cut) =>
      new ChatHistoryRoundReducer({ targetRounds: target, thresholdRounds: threshold }),
    most: 5,
  },
};

describe.each(Object.entries(reducers))("a cut by %s", (kind, { make, most }) => {
  const sizes = { target: fc.integer({ min: 1, max: most }), threshold: fc.integer({ min: 0, max: 8 }) };
  const cases = fc.record({ messages: fc.oneof(anyConversation(), orderlyConversation()), ...sizes });
  const cut = ({ messages, ...size }: Case): Promise<BaseMessage[] | null> => make(size).reduce(messages);

  /** Checks a promise of every cut that changes something. */
  async function promise(check: (result: BaseMessage[], given: Case) => void | Promise<void>): Promise<void> {
    let changed = 0;
    await fc.assert(
      fc.asyncProperty(cases, async (given) => {
        const result = await cut(given);
        if (result !== null) {
          changed += 1;
          await check(result, given);
        }
      }),
      runs,
    );
    expect(changed).toBeGreaterThan(0);
  }

  it("splits no step and creates no orphan", () =>
    promise((result, { messages }) => expectWholeSteps(messages, result)));

  it("keeps order and objects, and shortens", () =>
    promise((result, { messages }) => {
      expect(result.length).toBeLessThan(messages.length);
      expectOrder(messages, result);
      const kept = result.filter((message) => roleOf(message) !== "system");
      expect(kept.every((message) => messages.includes(message))).toBe(true);
      const summaries = kept.filter((message) => roleOf(message) === "summary");
      expect(summaries).toEqual(messages.filter((message) => summaries.includes(message)));
    }));

  it("keeps every summary, every distinct system message, and the newest message", () =>
    promise((result, { messages }) => {
      expectKeptFront(messages, result);
      expect(result).toContain(rest(messages).at(-1));
    }));

  it("begins with a human message if there is an earlier one, and keeps the newest human message", () =>
    promise((result, { messages }) => expectQuestionFirst(messages, result)));

  it("has nothing to do a second time", () =>
    promise(async (result, given) => expect(await cut({ ...given, messages: result })).toBeNull()));

  it("does not change its input", () => expectUntouchedInput(cases, cut));

  it("has nothing to do if the view is within the limit that it reports", () =>
    promise((_, { messages, target, threshold }) => {
      const { viewLimit } = make({ target, threshold });
      expect(messages.length).toBeGreaterThan(viewLimit.messages);
    }));

  if (kind === "rounds") {
    it("keeps the newest rounds, and one more only where a step lies across its beginning", () =>
      promise((result, { messages, target }) => {
        const humans = rest(messages).filter((message) => roleOf(message) === "human");
        expect(result).toEqual(expect.arrayContaining(humans.slice(-target)));
        const flags = findBoundaries(rest(messages));
        if (flags[rest(messages).indexOf(humans.at(-target)!)] === 1) {
          expect(rest(result)).toEqual(rest(messages).slice(rest(messages).indexOf(humans.at(-target)!)));
        }
      }));
    return;
  }

  it("keeps no more than the target, the threshold, an anchor and the rest of a step", () =>
    promise((result, { messages, target, threshold }) => {
      const systems = result.filter((message) => roleOf(message) === "system").length;
      const most = Math.max(1, target - systems) + threshold + 1 + longestStretch(messages);
      expect(rest(result).length).toBeLessThanOrEqual(most);
    }));

  it("stays bounded if it runs after every message, even with a system message in each turn", () =>
    forAllAsync(80, cases, async ({ messages, target, threshold }) => {
      const reducer = make({ target, threshold });
      let view: BaseMessage[] = [];
      for (const message of messages) {
        view = await reducer.invoke([...view, message]);
        expect(rest(view).length).toBeLessThanOrEqual(target + threshold + 2 + longestStretch(view));
      }
    }));
});

/** The most messages between two places where a list can be cut. */
function longestStretch(messages: readonly BaseMessage[]): number {
  const stretches = findBoundaries(rest(messages)).join("").split("1");
  return Math.max(...stretches.map(({ length }) => length));
}

const tokenRuns = { numRuns: propertyRuns(120) };
const tokenCounter = new CountingCounter();
const longText = fc.oneof(
  fc.string({ maxLength: 60 }),
  fc.nat(120).map((times) => "word 한글 👩‍👩‍👧‍👦 e\u0301".repeat(times)),
  fc.nat(300).map((times) => "word ".repeat(times)),
);
const conversations = fc.oneof(anyConversation({ text: longText }), orderlyConversation());
const share = fc.double({ min: 0.1, max: 1, noNaN: true });
const tokenCases = fc.record({ messages: conversations, maxTokens: fc.integer({ min: 1, max: 900 }), share });

interface TokenCase {
  readonly messages: BaseMessage[];
  readonly maxTokens: number;
  readonly share: number;
}

async function cutByTokens({ messages, maxTokens, share }: TokenCase): Promise<ReductionOutcome> {
  const targetTokens = Math.max(1, Math.floor(maxTokens * share));
  return new ChatHistoryTokenReducer({ maxTokens, targetTokens, tokenCounter }).reduceWithOutcome(messages);
}

async function promiseByTokens(
  check: (outcome: ReductionOutcome, given: TokenCase) => void | Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(tokenCases, async (given) => check(await cutByTokens(given), given)),
    tokenRuns,
  );
}

const idsOf = (messages: readonly BaseMessage[]): string[] => messages.map(({ id }) => id!);

describe("a cut by tokens", () => {
  it("fits the budget or reports by how much it exceeds it", () =>
    promiseByTokens((outcome, { messages, maxTokens }) => {
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
    promiseByTokens(({ messages: result }, { messages }) => {
      expectWholeSteps(messages, result);
      expectOrder(messages, result);
    }));

  it("keeps system messages, summaries and the newest messages, and begins with a human message if possible", () =>
    promiseByTokens(({ messages: result }, { messages }) => {
      expectKeptFront(messages, result);
      expectQuestionFirst(messages, result);
      expect(rest(result).at(-1)?.id).toBe(rest(messages).at(-1)?.id);
    }));

  it("changes only tool results, and only shortens them", () =>
    promiseByTokens(({ messages: result }, { messages }) => {
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
    promiseByTokens(({ messages: result, removed }, { messages }) => {
      expect(idsOf(removed)).toEqual(idsOf(messages).filter((id) => !idsOf(result).includes(id)));
    }));

  it("has nothing to do a second time", () =>
    promiseByTokens(async (outcome, given) => {
      const again = await cutByTokens({ ...given, messages: outcome.messages });
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
          await cutByTokens({ ...same, messages, maxTokens: small }),
          await cutByTokens({ ...same, messages, maxTokens: small + more }),
        ];
        const kept = new Map(rather.messages.map((message) => [message.id, message.text.length]));
        for (const message of rest(less.messages)) {
          expect(kept.get(message.id)).toBeGreaterThanOrEqual(message.text.length);
        }
      }),
      tokenRuns,
    );
  });

  it("does not change its input", () => expectUntouchedInput(tokenCases, cutByTokens));
});
