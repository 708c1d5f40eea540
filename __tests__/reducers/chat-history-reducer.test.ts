import { type BaseMessage, trimMessages } from "@langchain/core/messages";
import { inspect } from "node:util";
import { asReducer } from "../../src/conversation/reducers/as-reducer.js";
import { ChatHistoryReducer } from "../../src/conversation/reducers/chat-history-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { pipeReducers } from "../../src/conversation/reducers/pipe-reducers.js";
import { ChatHistoryTokenReducer } from "../../src/conversation/reducers/token-reducer.js";
import { ChatHistoryToolResultReducer } from "../../src/conversation/reducers/tool-result-reducer.js";
import { CountingCounter } from "../support/counting-counter.js";

const conversation = [human("1"), ai("a"), human("2"), ai("b"), human("3")];
const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });

class LastOnly extends ChatHistoryReducer {
  override reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    return Promise.resolve(messages.length > 1 ? messages.slice(-1) : null);
  }
}

describe("a reducer as a Runnable", () => {
  it.each([undefined, null, 7, "text", {}, { messages: "text" }])(
    "refuses %p as input with a typed error",
    async (input) => {
      await expect(reducer.invoke(input as never)).rejects.toMatchObject({
        name: "ConfigurationError",
        option: "input",
      });
    },
  );

  it.each([
    [["weird", "SECRET"]],
    [{ role: "weird", content: "SECRET" }],
    [{ SECRET: 1 }],
    [["tool", "SECRET"]],
    [null],
  ])("refuses an input that contains %j, naming the index and showing no text", async (odd) => {
    for (const input of [["1", odd], { messages: ["1", odd] }]) {
      const error: unknown = await reducer.invoke(input as never).catch((reason: unknown) => reason);
      expect(error).toMatchObject({
        name: "ConfigurationError",
        option: "input",
        message: expect.stringContaining("Reducer input[1] is not a message"),
      });
      expect(inspect(error)).not.toContain("SECRET");
    }
  });

  it("returns the input's own messages in a fresh array if there is nothing to do", async () => {
    const few = conversation.slice(0, 2);
    const result = await reducer.invoke(few);
    expect(result).toEqual(few);
    expect(result).not.toBe(few);
    expect(result[0]).toBe(few[0]);
  });

  it("has its name in traces and passes on the caller's callbacks", async () => {
    const names: string[] = [];
    const handleChainStart = (...given: unknown[]): void => void names.push(String(given[7]));
    await new LastOnly().withConfig({ runName: "mine" }).invoke(conversation, { callbacks: [{ handleChainStart }] });
    await reducer.invoke(conversation, { callbacks: [{ handleChainStart }] });
    expect(names).toEqual(["mine", "ChatHistoryTruncationReducer"]);
  });
});

describe("a custom reducer", () => {
  it("has an outcome derived from its result", async () => {
    const outcome = await new LastOnly().reduceWithOutcome(conversation);
    expect(outcome).toMatchObject({
      changed: true,
      reason: "reduced",
      before: { messages: 5 },
      after: { messages: 1 },
      overBudgetBy: 0,
    });
    expect(outcome.removed).toEqual(conversation.slice(0, 4));
    expect(await new LastOnly().reduceWithOutcome([human("1")])).toMatchObject({ changed: false, removed: [] });
  });

  it("has a result derived from its outcome", async () => {
    class Outcome extends ChatHistoryReducer {
      override reduceWithOutcome(messages: BaseMessage[]) {
        return new LastOnly().reduceWithOutcome(messages);
      }
    }
    expect(await new Outcome().reduce(conversation)).toEqual(conversation.slice(-1));
    expect(await new Outcome().invoke(conversation)).toEqual(conversation.slice(-1));
    expect(await new Outcome().reduce([human("1")])).toBeNull();
  });

  it("is refused if it implements neither of the two methods, also by way of super", async () => {
    class Neither extends ChatHistoryReducer {}
    class Super extends ChatHistoryReducer {
      override reduceWithOutcome(messages: BaseMessage[]) {
        return super.reduceWithOutcome(messages);
      }
    }
    for (const incomplete of [new Neither(), new Super()]) {
      await expect(incomplete.reduceWithOutcome(conversation)).rejects.toMatchObject({ option: "reducer" });
      await expect(incomplete.reduce(conversation)).rejects.toMatchObject({ option: "reducer" });
    }
  });

  it("runs after every write unless it defines a limit", () => {
    expect(new LastOnly().viewLimit).toEqual({ messages: 0 });
  });
});

describe("asReducer", () => {
  const counter = (messages: BaseMessage[]): number => messages.length;

  it("returns a reducer unchanged", () => {
    expect(asReducer(reducer)).toBe(reducer);
  });

  it("wraps trimMessages and returns the input's own objects", async () => {
    const trimming = asReducer(trimMessages({ maxTokens: 2, tokenCounter: counter, strategy: "last" }));
    const outcome = await trimming.reduceWithOutcome(conversation);
    expect(outcome.messages[0]).toBe(conversation[3]);
    expect(outcome.removed).toEqual(conversation.slice(0, 3));
  });

  it("treats a result that equals the input as nothing to do, even if it consists of copies", async () => {
    const trimming = asReducer(trimMessages({ maxTokens: 99, tokenCounter: counter, strategy: "last" }));
    expect(await trimming.reduce([system("S"), aiCalls("c"), tool("c")])).toBeNull();
  });

  it("wraps a function, which returns null if there is nothing to do", async () => {
    expect(await asReducer((messages) => messages.slice(1)).reduce(conversation)).toEqual(conversation.slice(1));
    expect(await asReducer(() => null).reduce(conversation)).toBeNull();
  });

  it("keeps a changed message as the reducer returned it", async () => {
    const shout = asReducer(async (messages) => messages.map(({ content }) => system(`${content as string}!`)));
    expect((await shout.reduce([system("S")]))!.map(({ content }) => content)).toEqual(["S!"]);
  });

  it.each([undefined, null, 7, {}])("refuses %p", (like) => {
    expect(() => asReducer(like as never)).toThrow(expect.objectContaining({ option: "reducer" }));
  });

  it("rejects a result that holds something other than a message, without quoting it", async () => {
    const error: unknown = await asReducer(() => [["weird", "SECRET"]])
      .reduce(conversation)
      .catch((reason: unknown) => reason);
    const message: unknown = expect.stringContaining("Reducer result[0] is not a message");
    expect(error).toMatchObject({ option: "reducer", message });
    expect(inspect(error)).not.toContain("SECRET");
  });

  it("refuses a result that is not an array", async () => {
    await expect(asReducer((() => "text") as never).reduce(conversation)).rejects.toMatchObject({ option: "reducer" });
  });
});

const step = (id: string) => [aiCalls(id), tool(id, "result ".repeat(200))];
const steps = [human("1"), ...step("a"), ...step("b"), ai("done"), human("2")];

describe("pipeReducers", () => {
  it("runs each reducer on the previous result", async () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const gentle = new ChatHistoryToolResultReducer({ keepLast: 1, thresholdCount: 0, maxCharacters: 20 });
    const hard = new ChatHistoryTokenReducer({ maxTokens: 1000, tokenCounter });
    const outcome = await pipeReducers(gentle, hard).reduceWithOutcome(steps);
    expect(outcome.messages).toHaveLength(7);
    expect(outcome).toMatchObject({
      changed: true,
      removed: [],
      before: { tokens: tokenCounter.totalOf(steps) },
    });
    expect(outcome.after.tokens).toBe(tokenCounter.totalOf(outcome.messages));
    expect(outcome.messages[2]!.text.length).toBeLessThanOrEqual(20);
    const tight = pipeReducers(gentle, new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }));
    const cut = await tight.reduceWithOutcome(steps);
    expect(cut.messages).toEqual([steps[0], steps[5], steps[6]]);
    expect(cut.removed).toEqual(steps.slice(1, 5));
  });

  it("has nothing to do if no part has", async () => {
    const idle = pipeReducers(new ChatHistoryTruncationReducer({ targetCount: 50 }), (messages) => messages);
    expect(await idle.reduce(steps)).toBeNull();
    expect(await idle.invoke(steps)).toEqual(steps);
  });

  it("also accepts other Runnables and functions", async () => {
    const trimming = trimMessages({ maxTokens: 4, tokenCounter: (messages) => messages.length, strategy: "last" });
    const result = await pipeReducers(trimming, (messages) => messages.slice(-1)).reduce(steps);
    expect(result).toEqual([steps[6]]);
    expect(result![0]).toBe(steps[6]);
  });

  it("has the smallest limits of its parts, and the counter of the first that counts", () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const pipeline = pipeReducers(
      new ChatHistoryTruncationReducer({ targetCount: 9 }),
      new ChatHistoryTruncationReducer({ targetCount: 7 }),
      new ChatHistoryTokenReducer({ maxTokens: 100, tokenCounter }),
    );
    expect(pipeline.viewLimit).toEqual({ messages: 7, tokens: 100 });
    expect(pipeline.tokenCounter).toBe(tokenCounter);
    expect(pipeline.requiresLease).toBe(false);
  });

  it("reports by how much the result exceeds the budget, even if a reducer without a budget is last", async () => {
    const tokenCounter = new CountingCounter({ perRequest: 0 });
    const pipeline = pipeReducers(
      new ChatHistoryTokenReducer({ maxTokens: 2, tokenCounter }),
      new ChatHistoryTruncationReducer({ targetCount: 50 }),
    );
    expect((await pipeline.reduceWithOutcome(steps)).overBudgetBy).toBe(3);
  });

  it("works in a chain and can be piped again", async () => {
    const pipeline = pipeReducers(pipeReducers(new ChatHistoryTruncationReducer({ targetCount: 2 })));
    expect(await pipeline.invoke({ messages: ["1", ["ai", "a"], "2", "3"] })).toHaveLength(2);
    expect(pipeline.getName()).toBe("ReducerPipeline");
  });

  it.each([[[]], [[undefined]], [[7]]])("refuses %p as parts", (parts) => {
    expect(() => pipeReducers(...(parts as never[]))).toThrow(expect.objectContaining({ name: "ConfigurationError" }));
  });
});
