import fc from "fast-check";
import { splitRounds } from "../../src/conversation/messages/rounds.js";
import { anyConversation } from "../support/conversations.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import type { AIMessage, BaseMessage, ToolMessage } from "@langchain/core/messages";
import { findOrphanResults } from "../../src/conversation/messages/content.js";
import { findBoundaries, splitsStep, stepsOf } from "../../src/conversation/messages/steps.js";
import { forAll } from "../support/property-runs.js";

describe("splitRounds", () => {
  it("begins a round at each human message, and calls what comes before the first one round 0", () => {
    const messages = [system("S"), ai("hello"), human("a"), ai("b"), human("c")];
    const rounds = splitRounds(messages);
    expect(rounds.map(({ index }) => index)).toEqual([0, 1, 2]);
    expect(rounds.map(({ messages: own }) => own.length)).toEqual([2, 2, 1]);
    expect(rounds[1]!.messages[0]).toBe(messages[2]);
  });

  it("has no round 0 if the first message is human", () => {
    expect(splitRounds([human("a"), human("b")]).map(({ index }) => index)).toEqual([1, 2]);
  });

  it("counts on from a given first round; what comes before it belongs to the round before", () => {
    const rounds = splitRounds([ai("rest"), human("a"), human("b")], { firstIndex: 7 });
    expect(rounds.map(({ index }) => index)).toEqual([6, 7, 8]);
  });

  it("loses nothing and reorders nothing", () => {
    fc.assert(
      fc.property(anyConversation(), (messages) => {
        const rounds = splitRounds(messages);
        expect(rounds.flatMap((round) => round.messages)).toEqual(messages);
        expect(rounds.every(({ index }, place) => index === rounds[0]!.index + place)).toBe(true);
      }),
    );
  });
});

function boundaries(...messages: BaseMessage[]): number[] {
  return [...findBoundaries(messages)].flatMap((flag, index) => (flag === 1 ? [index] : []));
}

describe("findBoundaries", () => {
  it("lets a result without a call, and a call that a human message followed, bind nothing", () => {
    expect(boundaries(tool("9"), human("a"), aiCalls("1"), human("b"))).toEqual([0, 1, 2, 3, 4]);
  });

  it("keeps a call whose result may still come with all that follows it", () => {
    expect(boundaries(human("a"), aiCalls("1", "2"), tool("1"), ai("working"))).toEqual([0, 1, 4]);
  });

  it("stays linear for 100,000 messages of one step", () => {
    const ids = Array.from({ length: 50_000 }, (_, index) => `c${index}`);
    const messages = [aiCalls(...ids), ...ids.map((id) => tool(id)), ...ids.map(() => ai("x"))];
    expect(findBoundaries(messages).reduce((sum, flag) => sum + flag, 0)).toBe(50_002);
  });
});

describe("stepsOf", () => {
  it("lists each AI message with the results that belong to it", () => {
    const messages = [human("a"), aiCalls("1", "2"), tool("1"), ai("b"), tool("2"), aiCalls("3")];
    expect(stepsOf(messages)).toEqual([
      { indexes: [1, 2, 4], pending: false },
      { indexes: [3], pending: false },
      { indexes: [5], pending: true },
    ]);
  });
});

describe("findOrphanResults", () => {
  it("finds the call of a result however many there are, in one message or since", () => {
    const ids = Array.from({ length: 40 }, (_, index) => `c${index}`);
    const results = ids.map((id) => tool(id));
    expect(findOrphanResults([aiCalls(...ids), ...results, tool("none")])).toEqual([41]);
    expect(findOrphanResults([...ids.map((id) => aiCalls(id)), tool("none"), ...results])).toEqual([40]);
  });

  it("accepts a message whose calls are null or not a list", () => {
    const odd = [null, "text", { length: 1 }].map((calls) =>
      Object.assign(ai("a"), { tool_calls: calls, invalid_tool_calls: null }),
    );
    expect(findOrphanResults([...odd, aiCalls("1"), tool("1"), tool("2")])).toEqual([odd.length + 2]);
  });

  it("agrees with the definition on any conversation", () => {
    const calls = fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 1, maxLength: 24 });
    const message = fc.oneof(
      calls.map((ids) => aiCalls(...ids.map((id) => `c${id}`))),
      fc.integer({ min: 0, max: 30 }).map((id) => tool(`c${id}`)),
      fc.constantFrom(human("q"), ai("a")),
    );
    const called = (before: BaseMessage[], id: string) =>
      before.some((other) => (other as AIMessage).tool_calls?.some((call) => call.id === id));
    forAll(250, fc.array(message, { maxLength: 40 }), (messages) => {
      const expected = messages.flatMap((result, index) =>
        result.getType() === "tool" && !called(messages.slice(0, index), (result as ToolMessage).tool_call_id)
          ? [index]
          : [],
      );
      expect(findOrphanResults(messages)).toEqual(expected);
    });
  });
});

describe("splitsStep", () => {
  const [call, result, answer] = [aiCalls("1"), tool("1"), ai("b", { id: "answer" })];

  it("is true if a call or a result was removed alone", () => {
    expect(splitsStep({ before: [call, result, answer], after: [result, answer] })).toBe(true);
    expect(splitsStep({ before: [call, result, answer], after: [call] })).toBe(true);
  });
});
