import { ContextOverflowError } from "@langchain/core/errors";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import {
  InMemorySessionStore,
  RedisChatMemory,
  withRedisMemory,
  type MemoryEvent,
  type MemorySettings,
} from "../../src/entries/index.js";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { tooLongIn } from "../../src/memory/turns/fit-request.js";
import { ToolModel } from "../support/agents.js";

const lengthOf = (messages: readonly BaseMessage[]) => messages.reduce((sum, { text }) => sum + text.length, 0);

/** A model of an unknown window, which refuses what has more than 4,000 characters, as a provider would. */
function refusingModel(refusal: (characters: number) => Error = () => new ContextOverflowError("too long")) {
  const asked: number[] = [];
  const model = new ToolModel((messages) => {
    const characters = lengthOf(messages);
    asked.push(characters);
    if (characters > 4_000) {
      throw refusal(characters);
    }
    return new AIMessage("answered");
  });
  return { model, asked };
}

/** A memory whose session `s` holds 20 rounds of 240 characters. */
async function filledMemory(settings: MemorySettings = {}) {
  const events: MemoryEvent[] = [];
  const memory = new RedisChatMemory({
    store: new InMemorySessionStore(),
    onEvent: (event) => void (event.type === "profile_guessed" ? undefined : events.push(event)),
    ...settings,
  });
  const rounds = Array.from({ length: 20 }, () => [
    new HumanMessage("why? ".repeat(24)),
    new AIMessage("so. ".repeat(30)),
  ]);
  await memory.history("s").addMessages(rounds.flat());
  return { memory, events };
}

const run = (turnId: string) => ({ configurable: { sessionId: "s", turnId } });
const doors: Record<string, (model: ToolModel, memory: RedisChatMemory, turnId: string) => Promise<unknown>> = {
  "an agent": (model, memory, turnId) => {
    const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
    return agent.invoke({ messages: [new HumanMessage("And now?")] }, run(turnId));
  },
  "a chain": (model, memory, turnId) => withRedisMemory(model, { memory }).invoke("And now?", run(turnId)),
  "a chain's stream": async (model, memory, turnId) => {
    for await (const chunk of await withRedisMemory(model, { memory }).stream("And now?", run(turnId))) {
      void chunk;
    }
  },
};
const told = (characters: number) => {
  const tokens = Math.ceil(characters / 4);
  const words = `maximum context length is 1000 tokens. However, your messages resulted in ${tokens} tokens.`;
  return Object.assign(new Error(words), { code: "context_length_exceeded" });
};

describe.each(Object.keys(doors))("%s whose request is refused as too long", (name) => {
  const ask = doors[name]!;

  it("is tried again once with a smaller view, and the turn is stored once", async () => {
    const [{ memory, events }, { model, asked }] = [await filledMemory(), refusingModel()];
    await ask(model, memory, "t1");
    expect(asked).toHaveLength(2);
    expect(asked[0]).toBeGreaterThan(4_000);
    expect(asked[1]).toBeLessThan(2_500);
    expect(events.map(({ type }) => type)).toEqual(["window_unknown", "context_overflow", "context_usage", "reduced"]);
    expect(events[1]).toEqual({ type: "context_overflow", sessionId: "s", retried: true });
    const history = memory.history("s");
    expect((await history.getTranscript()).slice(40).map(({ text }) => text)).toEqual(["And now?", "answered"]);
    expect(lengthOf(await history.getMessages())).toBeLessThan(2_500);
  });

  it("learns the window that the provider tells, so that later requests are not refused", async () => {
    const [{ memory, events }, { model, asked }] = [await filledMemory(), refusingModel(told)];
    await ask(model, memory, "t1");
    await memory.history("s").addMessages([new HumanMessage("why? ".repeat(300)), new AIMessage("so. ".repeat(300))]);
    await ask(model, memory, "t2");
    expect(asked).toHaveLength(3);
    expect(asked[2]).toBeLessThan(4_000);
    expect(events.filter(({ type }) => type === "context_overflow")).toEqual([
      { type: "context_overflow", sessionId: "s", window: 1_000, tokens: Math.ceil(asked[0]! / 4), retried: true },
    ]);
  });

  it("fails with the error of the second try, of another kind, or where nothing is to be cut", async () => {
    const never = new ToolModel(() => {
      throw new ContextOverflowError("never fits");
    });
    const { memory } = await filledMemory();
    await expect(ask(never, memory, "t1")).rejects.toThrow("never fits");
    const { model, asked } = refusingModel(() => new Error("overloaded"));
    await expect(ask(model, (await filledMemory()).memory, "t1")).rejects.toThrow("overloaded");
    const none = refusingModel();
    await expect(ask(none.model, (await filledMemory({ reducer: "none" })).memory, "t1")).rejects.toThrow("too long");
    expect([asked.length, none.asked.length]).toEqual([1, 1]);
  });
});

it.each([
  ["prompt is too long: 7981 tokens > 5000 maximum", { window: 5_000, tokens: 7_981 }],
  [
    "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000 tokens.",
    { window: 272_000, tokens: 300_000 },
  ],
  [
    "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    { window: 1_048_576, tokens: 1_200_000 },
  ],
  ["input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", { window: 200_000, tokens: 190_000 }],
  ["Your input exceeds the context window of this model.", {}],
  ["These messages exceed its context limit.", {}],
  [
    "This model's maximum context length is 8192 tokens. You requested 9000 tokens (8000 in the messages, 1000 more).",
    { window: 8_192, tokens: 8_000 },
  ],
  ["This model's maximum context length is 8192 tokens. You requested 9000 tokens.", { window: 8_192, tokens: 9_000 }],
  ["Rate limit of 8192 tokens per minute exceeded", undefined],
])("reads %s", (words, found) => {
  expect(tooLongIn(new Error(words))).toEqual(found);
});

it.each<[string, unknown, object | undefined]>([
  ["its name", { name: "ContextOverflowError" }, {}],
  ["its code", { code: "context_length_exceeded", message: "you requested 9 tokens" }, { tokens: 9 }],
  ["LangChain's code", { lc_error_code: "CONTEXT_OVERFLOW", message: 7 }, {}],
  ["its cause's code", Object.assign(new Error("400"), { cause: { code: "context_length_exceeded" } }), {}],
  ["its cause's words", { message: "400", cause: new Error("prompt is too long: 9 tokens") }, { tokens: 9 }],
  ["no number that is none", new Error("prompt is too long: 0 tokens > 99999999999999999999 maximum"), {}],
  ["nothing in a code of another kind", { code: "rate_limit", lc_error_code: "MODEL_RATE_LIMIT" }, undefined],
  ["nothing in a text", "context_length_exceeded", undefined],
  ["nothing in nothing", undefined, undefined],
])("knows a request that was too long by %s", (_, error, found) => {
  expect(tooLongIn(error)).toStrictEqual(found);
});
