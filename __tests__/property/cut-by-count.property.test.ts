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
import { propertyRuns } from "../support/property-runs.js";

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

  it("stays bounded if it runs after every message, even with a system message in each turn", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ messages, target, threshold }) => {
        const reducer = make({ target, threshold });
        let view: BaseMessage[] = [];
        for (const message of messages) {
          view = await reducer.invoke([...view, message]);
          expect(rest(view).length).toBeLessThanOrEqual(target + threshold + 2 + longestStretch(view));
        }
      }),
      { numRuns: propertyRuns(80) },
    );
  });
});

/** The most messages between two places where a list can be cut. */
function longestStretch(messages: readonly BaseMessage[]): number {
  const stretches = findBoundaries(rest(messages)).join("").split("1");
  return Math.max(...stretches.map(({ length }) => length));
}
