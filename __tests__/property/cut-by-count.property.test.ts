import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { roleOf } from "../../src/conversation/messages/roles.js";
import { findOrphanResults } from "../../src/conversation/messages/calls.js";
import { findBoundaries, splitsStep } from "../../src/conversation/messages/steps.js";
import { ChatHistoryRoundReducer } from "../../src/conversation/reducers/round-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { anyConversation, orderlyConversation } from "../support/conversations.js";
import { expectUntouchedInput, rest } from "../support/cut-properties.js";
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
    promise((result, { messages }) => {
      expect(splitsStep({ before: messages, after: result })).toBe(false);
      const orphans = new Set(findOrphanResults(messages).map((index) => messages[index]!.id));
      expect(findOrphanResults(result).every((index) => orphans.has(result[index]!.id))).toBe(true);
    }));

  it("keeps order and objects, and shortens", () =>
    promise((result, { messages }) => {
      expect(result.length).toBeLessThan(messages.length);
      for (const part of [
        rest,
        (list: readonly BaseMessage[]) => list.filter((message) => roleOf(message) === "summary"),
      ]) {
        const places = part(result).map((message) => messages.indexOf(message));
        expect(places).toEqual([...places].sort((a, b) => a - b));
        expect(places).not.toContain(-1);
      }
    }));

  it("keeps every summary, every distinct system message, and the newest message", () =>
    promise((result, { messages }) => {
      const texts = (list: readonly BaseMessage[]) =>
        new Set(list.filter((message) => roleOf(message) === "system").map(({ text }) => text));
      expect(texts(result)).toEqual(texts(messages));
      const summaries = messages.filter((message) => roleOf(message) === "summary");
      expect(summaries.every((message) => result.includes(message))).toBe(true);
      expect(result).toContain(rest(messages).at(-1));
    }));

  it("begins with a human message if there is an earlier one, and keeps the newest human message", () =>
    promise((result, { messages }) => {
      const [all, kept] = [rest(messages), rest(result)];
      const before = all.slice(0, all.indexOf(kept[0]!) + 1);
      expect(roleOf(kept[0]!) === "human" || before.every((message) => roleOf(message) !== "human")).toBe(true);
      const newest = all.findLast((message) => roleOf(message) === "human");
      expect(newest === undefined || kept.includes(newest)).toBe(true);
    }));

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
      const flags = findBoundaries(rest(messages));
      const stretches = flags
        .join("")
        .split("1")
        .map(({ length }) => length);
      expect(rest(result).length).toBeLessThanOrEqual(
        Math.max(1, target - systems) + threshold + 1 + Math.max(...stretches),
      );
    }));

  it("stays bounded if it runs after every message, even with a system message in each turn", async () => {
    await fc.assert(
      fc.asyncProperty(cases, async ({ messages, target, threshold }) => {
        const reducer = make({ target, threshold });
        let view: BaseMessage[] = [];
        for (const message of messages) {
          view = await reducer.invoke([...view, message]);
          const flags = findBoundaries(rest(view));
          const longest = Math.max(
            ...flags
              .join("")
              .split("1")
              .map(({ length }) => length),
          );
          expect(rest(view).length).toBeLessThanOrEqual(target + threshold + 2 + longest);
        }
      }),
      { numRuns: propertyRuns(80) },
    );
  });
});
