import { type MessageContent, ToolMessage } from "@langchain/core/messages";
import { approximateCounter, BudgetError, ChatHistoryTokenReducer, tiktokenCounter } from "../../src/entries/index.js";
import { clipMarker } from "../../src/conversation/reducers/tool-result-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";

// Every message of this text costs ten tokens by the counter: four and six.
const text = "x".repeat(24);
const rounds = Array.from({ length: 10 }, () => [human(text), ai(text)]).flat();

function reducerOf(options: { maxTokens: number; targetTokens?: number }): ChatHistoryTokenReducer {
  return new ChatHistoryTokenReducer({ tokenCounter: new CountingCounter({ perRequest: 0 }), ...options });
}

describe("the cut by tokens", () => {
  it("does nothing up to the maximum, and reduces to the target above it", async () => {
    expect(await reducerOf({ maxTokens: 200, targetTokens: 100 }).reduce(rounds)).toBeNull();
    expect(await reducerOf({ maxTokens: 199, targetTokens: 100 }).reduce(rounds)).toEqual(rounds.slice(10));
  });

  it("aims at four fifths of the maximum by default", async () => {
    expect(await reducerOf({ maxTokens: 150 }).reduce(rounds)).toEqual(rounds.slice(8));
    expect(await reducerOf({ maxTokens: 149 }).reduce(rounds)).toEqual(rounds.slice(10));
  });

  it("throws a typed error with the needed tokens if configured", async () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 50, tokenCounter, onOverBudget: "throw" });
    const error: unknown = await reducer.reduce([human("z".repeat(1000))]).catch((reason: unknown) => reason);
    expect(BudgetError.isInstance(error)).toBe(true);
    expect(error).toMatchObject({ needed: 254, allowed: 50 });
  });
});

describe("clipping tool results", () => {
  const request = human("find it");
  const calls = aiCalls("1", "2");
  const [first, second] = ["a".repeat(4000), "b".repeat(4000)];
  const conversation = [request, calls, tool("1", first), tool("2", second)];

  it("shortens the oldest result of the newest step first, and only as far as needed", async () => {
    const outcome = await reducerOf({ maxTokens: 1500 }).reduceWithOutcome(conversation);
    const [, , one, two] = outcome.messages;
    expect(one!.text).toMatch(/^a+\n\[shortened/);
    expect(two).toBe(conversation[3]);
    expect(outcome.overBudgetBy).toBe(0);
    expect(outcome.after.tokens!).toBeGreaterThan(1400);
    expect(outcome.removed).toEqual([]);
  });

  it("creates new messages with the same id, status and artifact, and does not change the input", async () => {
    const given = new ToolMessage({
      content: first,
      tool_call_id: "1",
      id: "t1",
      name: "lookup",
      status: "error",
      artifact: { raw: 1 },
    });
    const outcome = await reducerOf({ maxTokens: 200 }).reduceWithOutcome([request, aiCalls("1"), given]);
    expect(outcome.messages[2]).toMatchObject({
      id: "t1",
      tool_call_id: "1",
      name: "lookup",
      status: "error",
      artifact: { raw: 1 },
    });
    expect(outcome.messages[2]).not.toBe(given);
    expect(given.content).toBe(first);
  });

  it("clips the text of content blocks and keeps the others", async () => {
    const image = { type: "image_url", image_url: "https://example.org/cat.png" };
    const content = [
      { type: "text", text: "short" },
      { type: "text", text: first },
      image,
      { type: "text", text: second },
    ];
    const given = new ToolMessage({ content, tool_call_id: "1" });
    const result = await reducerOf({ maxTokens: 200 }).reduce([request, aiCalls("1"), given]);
    expect(result![2]!.content).toEqual([
      { type: "text", text: "short" },
      { type: "text", text: expect.stringMatching(/^a+\n\[shortened/) },
      image,
    ]);
  });

  it.each([
    ["a list of texts", ["a ".repeat(4000), null], [clipMarker, null]],
    ["no content", null, null],
    ["content that is no list", { answer: 42 }, { answer: 42 }],
  ])("handles a result with %s", async (_, content, expected) => {
    const odd = tool("1");
    odd.content = content as unknown as MessageContent;
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 1000, tokenCounter: approximateCounter() });
    const outcome = await reducer.reduceWithOutcome([human("do it"), calls, odd, tool("2", "a ".repeat(4000))]);
    expect(outcome.messages.find((message) => (message as ToolMessage).tool_call_id === "1")!.content).toEqual(
      expected,
    );
  });

  it("can be turned off", async () => {
    const reducer = new ChatHistoryTokenReducer({
      maxTokens: 100,
      tokenCounter: new CountingCounter(),
      clipToolResults: false,
    });
    expect(await reducer.reduceWithOutcome(conversation)).toMatchObject({
      changed: false,
      reason: "nothing_removable",
      overBudgetBy: 1929,
    });
  });
});

describe("counting", () => {
  const words =
    "the quick brown fox jumps over the lazy dog and then some more of the same words until there are " +
    "enough of them to be about forty eight tokens long which takes a few more";
  const many = Array.from({ length: 1000 }, (_, index) =>
    index % 2 === 0 ? human(`${index} ${words}`) : ai(`${index} ${words}`),
  );

  it("counts each message once when 1,000 messages are cut to 1,000 tokens, and never again", async () => {
    const tokenCounter = new CountingCounter();
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 1000, tokenCounter });
    const result = await reducer.invoke(many);
    expect(tokenCounter.totalOf(many)).toBeGreaterThan(40_000);
    expect(tokenCounter.totalOf(result)).toBeLessThanOrEqual(1000);
    expect(tokenCounter.asked).toHaveLength(1000);
    await reducer.invoke([...result, ...many]);
    expect(tokenCounter.asked).toHaveLength(1000);
    expect(tokenCounter.textsAsked).toBe(0);
  });

  it("counts a message once for concurrent callers, and again after a failure", async () => {
    const base = new CountingCounter();
    let calls = 0;
    const countMessage = async (): Promise<number> => {
      calls += 1;
      await new Promise((resolve) => setImmediate(resolve));
      if (calls === 1) {
        throw new Error("offline");
      }
      return 10;
    };
    const tokenCounter = { id: base.id, perRequest: 0, countText: () => 1, countMessage };
    const reducer = new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter });
    const messages = [human("hello")];
    const [first, second] = await Promise.allSettled([reducer.reduce(messages), reducer.reduce(messages)]);
    expect([first.status, second.status, calls]).toEqual(["rejected", "rejected", 1]);
    expect(await reducer.reduce(messages)).toBeNull();
    expect(calls).toBe(2);
  });

  it.each([NaN, -1, Infinity, undefined, "7"])("refuses %p as a count", async (count) => {
    const tokenCounter = {
      id: `broken ${String(count)}`,
      perRequest: 0,
      countText: () => 1,
      countMessage: () => count as number,
    };
    const reduced = new ChatHistoryTokenReducer({ maxTokens: 10, tokenCounter }).reduce([human("a"), human("b")]);
    await expect(reduced).rejects.toMatchObject({ name: "ConfigurationError", option: "tokenCounter" });
  });

  it("uses OpenAI's tokens by default", () => {
    expect(new ChatHistoryTokenReducer({ maxTokens: 1000 }).tokenCounter.id).toBe(tiktokenCounter().id);
  });
});

describe("options of the token reducer", () => {
  it("reports the view size up to which a history need not reduce, without the request's own cost", () => {
    expect(
      new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter: new CountingCounter({ perRequest: 7 }) }).viewLimit,
    ).toEqual({ tokens: 93 });
  });
});
