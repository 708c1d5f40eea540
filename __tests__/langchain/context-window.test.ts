import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { z } from "zod";
import { ContextOverflowError } from "@langchain/core/errors";
import { readLog } from "../../src/store/contract/session-data.js";
import {
  contextWindow,
  InMemorySessionStore,
  RedisChatMemory,
  withRedisMemory,
  type MemoryEvent,
  type MemorySettings,
} from "../../src/entries/index.js";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { ToolModel } from "../support/agents.js";
import { tooLongIn } from "../../src/memory/turns/fit-request.js";
import { all } from "../support/all.js";

const systemPrompt = "You are a helpful agent of an airline. ".repeat(20);
const search = tool(({ query }: { query: string }) => `${query}: ${"a flight from here to there, ".repeat(40)}`, {
  name: "search",
  description: "Finds flights by what the traveller says. ".repeat(10),
  schema: z.object({ query: z.string() }),
});

/** The size of a request by a tokenizer that is finer than the estimate's; parts that are not messages are constant. */
const billed = (messages: readonly BaseMessage[]) =>
  messages.reduce((sum, message) => sum + 12 + Math.ceil(JSON.stringify(sentOf(message)).length / 3), 250);
const sentOf = (message: BaseMessage) => [message.text, (message as AIMessage).tool_calls ?? []];

/** Ids of the memory's own are new in each run. */
const withoutNewIds = (key: string, value: unknown) => (key === "id" ? undefined : value);

/** A model that calls a tool for each question, and says what it was billed. */
class CountingModel extends ToolModel {
  readonly inputs: number[] = [];
  #calls = 0;

  constructor(readonly window: number | undefined) {
    super((messages) => this.#answer(messages));
  }

  override get profile() {
    return this.window === undefined ? {} : { maxInputTokens: this.window };
  }

  #answer(messages: readonly BaseMessage[]): AIMessage {
    const input = billed(messages);
    this.inputs.push(input);
    this.#calls += 1;
    const last = messages.at(-1)!;
    const call = { id: `call-${this.#calls}`, name: "search", args: { query: last.text }, type: "tool_call" as const };
    return new AIMessage({
      content: HumanMessage.isInstance(last) ? "" : "Here are some flights.",
      id: `ai-${this.#calls}`,
      tool_calls: HumanMessage.isInstance(last) ? [call] : [],
      usage_metadata: { input_tokens: input, output_tokens: 10, total_tokens: input + 10 },
    });
  }
}

interface Runs extends Pick<MemorySettings, "reducer" | "reduceWhen" | "onEvent"> {
  readonly turns: number;
  readonly store: InMemorySessionStore;
}

async function run(model: CountingModel, { turns, store, ...settings }: Runs) {
  for (let turn = 0; turn < turns; turn += 1) {
    // A new memory each time: nothing is kept in the process.
    const memory = new RedisChatMemory({ store, ...settings });
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model, tools: [search], systemPrompt, middleware });
    const question = { role: "user", content: `Question ${turn}: where can I go?` };
    await agent.invoke({ messages: [question] }, { configurable: { sessionId: "s" } });
    const asked = model.sent.slice(-2).map((sent) => sent.some(({ text }) => text === question.content));
    expect(asked).toEqual([true, true]);
    await memory.close();
  }
}

describe("an agent without a reducer", () => {
  it("sends no request that exceeds the window, though the provider counts more tokens than the estimate", async () => {
    const [model, store] = [new CountingModel(4_000), new InMemorySessionStore()];
    await run(model, { turns: 16, store });
    expect(Math.max(...model.inputs)).toBeLessThanOrEqual(3_600);
    expect(Math.max(...model.inputs)).toBeGreaterThan(2_600);
    const memory = new RedisChatMemory({ store });
    expect(await memory.history("s").getTranscript()).toHaveLength(64);
  });

  it("sends up to the window what a memory sends that reduces nothing, byte for byte", async () => {
    const settings: Pick<MemorySettings, "reducer">[] = [{}, { reducer: contextWindow() }, { reducer: "none" }];
    const requests = settings.map(async (given) => {
      const model = new CountingModel(8_000);
      await run(model, { turns: 3, store: new InMemorySessionStore(), ...given });
      return JSON.stringify(
        model.sent.map((sent) => sent.map((message) => message.toDict())),
        withoutNewIds,
      );
    });
    const [byDefault, named, none] = await Promise.all(requests);
    expect(byDefault).toBe(none);
    expect(named).toBe(none);
  });

  it("is not cut with reducer none or reduceWhen never, nor where the window is not known", async () => {
    const cases: readonly [MemorySettings, number | undefined][] = [
      [{ reducer: "none" }, 1_500],
      [{ reduceWhen: "never" }, 1_500],
      [{}, undefined],
    ];
    for (const [settings, window] of cases) {
      const [model, store] = [new CountingModel(window), new InMemorySessionStore()];
      await run(model, { turns: 4, store, ...settings });
      expect(model.inputs.at(-1)).toBeGreaterThan(1_500);
      expect(model.sent.at(-1)).toHaveLength(1 + 15);
    }
  });

  it("reports at each request what it takes, as the provider counts it", async () => {
    const [model, store, events] = [new CountingModel(2_500), new InMemorySessionStore(), [] as MemoryEvent[]];
    await run(model, { turns: 12, store, onEvent: (event) => void events.push(event) });
    const usages = events.filter((event) => event.type === "context_usage");
    expect(usages.map(({ source }) => source)).toEqual(["estimate", ...Array(23).fill("provider")]);
    usages.slice(1).forEach(({ tokens, window, room }, index) => {
      // One answer does not tell yet which share of its bill was system prompt and tools.
      expect(Math.abs(tokens / model.inputs[index + 1]! - 1)).toBeLessThan(index === 0 ? 0.12 : 0.05);
      expect([window, room]).toEqual([2_500, 2_137]);
    });
    // Most requests are right behind a cut.
    expect(model.inputs.filter((input, index) => input < model.inputs[index - 1]!).length).toBeGreaterThan(4);
  });

  it("keeps with each answer what its request was thought to take, by model", async () => {
    const [model, store] = [new CountingModel(100_000), new InMemorySessionStore()];
    await run(model, { turns: 1, store });
    const { records } = await readLog(store, { id: "s" });
    const kept = records.map((record) => /"asked:[\w-]{8}":(\d+)/.exec(record)?.[1]);
    expect(kept.map((tokens) => tokens !== undefined)).toEqual([false, true, false, true]);
    expect(Number(kept[3])).toBeGreaterThan(Number(kept[1]));
  });
});

const questionTokens = billed([new HumanMessage("Question 0: where can I go?")]) - billed([]);
const gauge = (store: InMemorySessionStore, model: unknown, settings: MemorySettings = {}) =>
  new RedisChatMemory({ store, ...settings }).history("s").contextUsage({ model });

describe("history.contextUsage", () => {
  it("tells on any instance what an agent's next request takes before its question, also behind cuts", async () => {
    const [model, store] = [new CountingModel(4_000), new InMemorySessionStore()];
    expect(await gauge(store, model)).toMatchObject({ source: "estimate", window: 4_000 });
    let near = 0;
    for (let turn = 0; turn < 16; turn += 1) {
      const before = (await gauge(store, model))!;
      await run(model, { turns: 1, store });
      const asked = model.inputs.at(-2)!;
      const expected = before.tokens + questionTokens;
      near += Math.abs(expected / asked - 1) < 0.08 ? 1 : 0;
      // An empty session does not tell what its first request holds besides.
      expect(asked).toBeLessThan(turn === 0 ? Infinity : expected * 1.08);
    }
    // The others were cut in front of the request.
    expect(near).toBeGreaterThan(8);
    const { tokens, ...usage } = (await gauge(store, model))!;
    expect(usage).toEqual({ model: "CountingModel", window: 4_000, room: 3_420, source: "provider" });
    expect(tokens).toBeLessThanOrEqual(4_000);
  });

  it("goes by the newest answer of the model, by the parts that are given, or by the view alone", async () => {
    const [model, store] = [new CountingModel(8_000), new InMemorySessionStore()];
    await run(model, { turns: 3, store });
    const history = new RedisChatMemory({ store, reducer: "none" }).history("s");
    const parts = { system: systemPrompt, tools: [search] };
    const [plain, told] = [await history.contextUsage({ model }), await history.contextUsage({ model, ...parts })];
    expect(told).toEqual(plain);
    const other = new BilledModel(8_000);
    const [view, whole] = [
      await history.contextUsage({ model: other }),
      await history.contextUsage({ model: other, ...parts }),
    ];
    expect([view!.source, whole!.source]).toEqual(["estimate", "estimate"]);
    expect(whole!.tokens).toBeGreaterThan(view!.tokens + 300);
  });

  it("is undefined where the window is not known, and refuses other options by name", async () => {
    const store = new InMemorySessionStore();
    expect(await gauge(store, new CountingModel(undefined))).toBeUndefined();
    expect(await gauge(store, undefined)).toBeUndefined();
    const told = { reducer: contextWindow({ maxInputTokens: 1_000 }) };
    expect(await gauge(store, undefined, told)).toMatchObject({ window: 1_000, source: "estimate" });
    const history = new RedisChatMemory({ store }).history("s");
    for (const given of [{ tools: "none" }, { config: 5 }, { system: 5 }, { system: {} }, { system: null }]) {
      const [option] = Object.keys(given);
      await expect(history.contextUsage(given as object)).rejects.toThrow(expect.objectContaining({ option }));
    }
    const usageOf = (system: unknown) => history.contextUsage({ model, system, config: {} } as object);
    const model = new CountingModel(8_000);
    expect(await usageOf(new SystemMessage(systemPrompt))).toEqual(await usageOf(systemPrompt));
  });
});

/** A model that says what it was billed, which includes a prompt that the memory does not see. */
class BilledModel extends ToolModel {
  readonly inputs: number[] = [];

  constructor(readonly window: number) {
    super((messages) => {
      const input = billed(messages);
      this.inputs.push(input);
      const usage_metadata = { input_tokens: input, output_tokens: 10, total_tokens: input + 10 };
      return new AIMessage({ content: "This is an answer. ".repeat(20), usage_metadata });
    });
  }

  override get profile() {
    return { maxInputTokens: this.window };
  }
}

describe("a chain without a reducer", () => {
  const prompt = ChatPromptTemplate.fromMessages([
    ["system", systemPrompt],
    ["placeholder", "{history}"],
    ["human", "{input}"],
  ]);

  it.each(["step", "turn"] as const)("cuts for the turn's input before the call, persisted by %s", async (persist) => {
    const [model, store] = [new BilledModel(3_000), new InMemorySessionStore()];
    for (let turn = 0; turn < 24; turn += 1) {
      const memory = new RedisChatMemory({ store });
      const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
      const chain = withRedisMemory(prompt.pipe(model), { memory, persist, ...keys });
      // Every sixth input is a third of the window.
      const input = `Question ${turn}: ${"and what then? ".repeat(turn % 6 === 5 ? 160 : 4)}`;
      await chain.invoke({ input }, { configurable: { sessionId: "s" } });
      expect(model.sent.at(-1)!.at(-1)!.text).toBe(input);
      await memory.close();
    }
    expect(Math.max(...model.inputs)).toBeLessThanOrEqual(3_000);
    expect(Math.max(...model.inputs)).toBeGreaterThan(2_000);
    // The answer is new since its request.
    const usage = (await gauge(store, model))!;
    expect(usage.source).toBe("provider");
    expect(Math.abs(usage.tokens / (model.inputs.at(-1)! + 110) - 1)).toBeLessThan(0.06);
    const history = new RedisChatMemory({ store }).history("s");
    expect(await history.getTranscript()).toHaveLength(48);
    expect((await history.getMessages()).length).toBeLessThan(40);
  });
});

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

const configOf = (turnId: string) => ({ configurable: { sessionId: "s", turnId } });
const doors: Record<string, (model: ToolModel, memory: RedisChatMemory, turnId: string) => Promise<unknown>> = {
  "an agent": (model, memory, turnId) => {
    const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
    return agent.invoke({ messages: [new HumanMessage("And now?")] }, configOf(turnId));
  },
  "a chain": (model, memory, turnId) => withRedisMemory(model, { memory }).invoke("And now?", configOf(turnId)),
  "a chain's stream": async (model, memory, turnId) => {
    await all(await withRedisMemory(model, { memory }).stream("And now?", configOf(turnId)));
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
