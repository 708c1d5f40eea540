import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { SimpleChatModel } from "@langchain/core/language_models/chat_models";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { StringOutputParser } from "@langchain/core/output_parsers";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { setTimeout as delay } from "node:timers/promises";
import { writeTurn } from "../../src/memory/session/append-input.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistorySummarizationReducer } from "../../src/conversation/reducers/summary/summarization-reducer.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createAgent } from "langchain";
import { closedAfterEach } from "../support/closed-after-each.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

/** Says its words one by one, and waits for the signal before the word "…". */
class SlowModel extends SimpleChatModel {
  readonly sent: BaseMessage[][] = [];
  /** Is called when the model waits: not before the run has read its session, however slow the machine is. */
  onWait: () => void = () => undefined;
  /** What it waits for after its second word. */
  pause: Promise<void> | undefined;
  constructor(private readonly answers: string[]) {
    super({});
  }

  override _llmType(): string {
    return "slow";
  }

  override async _call(_: BaseMessage[], { signal }: this["ParsedCallOptions"]): Promise<string> {
    this.onWait();
    await delay(10_000, undefined, { ...(signal && { signal }), ref: false });
    return "too late";
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    this.sent.push(messages);
    for (const [index, word] of this.answers
      .shift()!
      .split(/(?<= )/)
      .entries()) {
      await (index === 2 ? this.pause : undefined);
      if (word === "…") {
        this.onWait();
        await delay(10_000, undefined, { ...(options.signal && { signal: options.signal }), ref: false });
      }
      await delay(2);
      await runManager?.handleLLMNewToken(word);
      yield new ChatGenerationChunk({ text: word, message: new AIMessageChunk({ content: word }) });
    }
  }
}

const events: MemoryEvent[] = [];
let memory: RedisChatMemory;

beforeEach(() => {
  events.length = 0;
  const onEvent = (event: MemoryEvent) => void events.push(event);
  memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix: uniquePrefix() }, onEvent });
});

afterEach(() => memory.close());

const turn = { configurable: { sessionId: "ann", turnId: "t" } };
const stored = () => memory.history("ann").getTranscript();
const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);
const isInterrupted = (message: BaseMessage | undefined) =>
  (message?.response_metadata as Record<string, unknown> | undefined)?.["interrupted"];

type Stopped = Pick<ReturnType<typeof chainOf>["chain"], "stream" | "invoke">;

function signalled() {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve };
}

function chainOf(answers: string[], onAbort?: "discard" | "keep", persist?: "turn" | "step") {
  const model = new SlowModel(answers);
  const chain = withRedisMemory(model, { memory, ...(onAbort && { onAbort }), ...(persist && { persist }) });
  return { model, chain };
}

async function leave(chain: Stopped): Promise<void> {
  let words = 0;
  for await (const _ of await chain.stream("q", turn)) {
    if ((words += 1) === 2) {
      break;
    }
  }
}

async function cancelReader(chain: Stopped): Promise<void> {
  const reader = (await chain.stream("q", turn)).getReader();
  await reader.read();
  await reader.read();
  await reader.cancel();
}

async function abortWhileWaiting(chain: Stopped): Promise<void> {
  const controller = new AbortController();
  const reading = (async () => {
    let words = 0;
    for await (const _ of await chain.stream("q", { ...turn, signal: controller.signal })) {
      if ((words += 1) === 3) {
        setTimeout(() => controller.abort(), 20);
      }
    }
  })();
  await expect(reading).rejects.toThrow();
  await memory.drain();
}

/** The reader holds a chunk and asks for no more: no generator is told of the abort. */
async function abortWhileHolding(chain: Stopped): Promise<void> {
  const controller = new AbortController();
  const reader = (await chain.stream("q", { ...turn, signal: controller.signal })).getReader();
  await reader.read();
  await delay(30);
  controller.abort();
  await memory.drain();
}

/** As where the page is closed to which a server streams the answer: it waits for the next word then. */
async function cancelWhileReading(chain: Stopped, model: SlowModel): Promise<void> {
  const { promise, resolve } = signalled();
  model.pause = promise;
  const reader = (await chain.stream("q", turn)).getReader();
  await reader.read();
  await reader.read();
  const [pending, cancelled] = [reader.read(), reader.cancel()];
  resolve();
  await Promise.all([pending, cancelled]);
  model.pause = undefined;
  await memory.drain();
}

const long = Array.from({ length: 200 }, (_, index) => `w${index}`).join(" ");
const stops = [
  ["the stream is left", leave, long],
  ["its reader is cancelled", cancelReader, long],
  ["the signal aborts while the model is silent", abortWhileWaiting, "one two three …"],
  ["the signal aborts while the reader holds a chunk", abortWhileHolding, long],
  ["its reader is cancelled while it waits for a word", cancelWhileReading, long],
] as const;

describe.each(stops)("a chain's run that is stopped because %s", (_, stop, answer) => {
  it("stores nothing with onAbort discard and persist turn, and runs anew when it is retried", async () => {
    const { model, chain } = chainOf([answer, "whole answer"], "discard", "turn");
    await stop(chain, model);
    expect(await stored()).toEqual([]);
    await drainStream(chain);
    expect(model.sent).toHaveLength(2);
    expect(texts(await stored())).toEqual(["q", "whole answer"]);
  });

  it("leaves the question with persist step", async () => {
    const { model, chain } = chainOf([answer, "whole answer"], "discard", "step");
    await stop(chain, model);
    expect(texts(await stored())).toEqual(["q"]);
    await drainStream(chain);
    expect(texts(await stored())).toEqual(["q", "whole answer"]);
  });

  it.each(["turn", "step"] as const)("keeps what was said with onAbort keep, persist %s", async (persist) => {
    const { model, chain } = chainOf([answer, "whole answer"], "keep", persist);
    await stop(chain, model);
    const [question, partial, ...rest] = await stored();
    expect([question?.text, isInterrupted(partial), rest]).toEqual(["q", true, []]);
    expect(answer.startsWith(partial!.text.trim()) && partial!.text.length < answer.length).toBe(true);
    await drainStream(chain);
    const after = await stored();
    expect([texts(after), isInterrupted(after[1])]).toEqual([["q", "whole answer"], undefined]);
    expect(texts(model.sent.at(-1)!)).toEqual(["q"]);
    await drainStream(chain);
    expect(model.sent).toHaveLength(2);
  });
});

describe("a chain's run that was stopped, with onAbort keep", () => {
  it("does not replace its partial answer where others wrote since, and says so", async () => {
    const { chain } = chainOf([long, "whole answer"], "keep");
    await leave(chain);
    await memory.history("ann").addMessages([human("other")]);
    await drainStream(chain);
    expect(events).toContainEqual(expect.objectContaining({ type: "turn_not_stored", reason: "overtaken" }));
    const [, partial, other, ...rest] = await stored();
    expect([isInterrupted(partial), other?.text, rest]).toEqual([true, "other", []]);
  });

  it("replaces a partial answer by a longer one where the retry is stopped too", async () => {
    const { chain } = chainOf([long, "other words that are many more", "end"], "keep");
    await leave(chain);
    await leave(chain);
    const after = await stored();
    expect([after.length, isInterrupted(after[1]), after[1]?.text.startsWith("other words")]).toEqual([2, true, true]);
    await drainStream(chain);
    expect(texts(await stored())).toEqual(["q", "end"]);
  });

  it.each(["alone", "behind a prompt"])(
    "keeps what an invoke's model had said that streams inside, %s",
    async (place) => {
      const model = new SlowModel(["one two three …"]);
      const steps = place === "alone" ? model : RunnableLambda.from((messages: BaseMessage[]) => messages).pipe(model);
      const chain = withRedisMemory(steps as typeof model, { memory, onAbort: "keep" });
      const streaming = BaseCallbackHandler.fromMethods({ handleLLMNewToken: () => undefined });
      const config = { ...turn, callbacks: [Object.assign(streaming, { lc_prefer_streaming: true })] };
      const controller = new AbortController();
      model.onWait = () => setImmediate(() => controller.abort());
      await expect(chain.invoke("q", { ...config, signal: controller.signal })).rejects.toThrow();
      await memory.drain();
      const after = await stored();
      expect([texts(after), isInterrupted(after[1])]).toEqual([["q", "one two three "], true]);
    },
  );

  it("does not wait for long where a runnable ignores the signal", async () => {
    const controller = new AbortController();
    const deaf = RunnableLambda.from(async () => {
      setImmediate(() => controller.abort());
      return delay(5_000, "too late", { ref: false });
    });
    const chain = withRedisMemory(deaf, { memory, onAbort: "keep" });
    await expect(chain.invoke("q", { ...turn, signal: controller.signal })).rejects.toThrow();
    await memory.drain();
    expect(texts(await stored())).toEqual(["q"]);
  });

  it("stores what a parser made of the chunks behind a prompt", async () => {
    const prompt = ChatPromptTemplate.fromMessages([new MessagesPlaceholder("history"), ["human", "{input}"]]);
    const keys = { inputMessagesKey: "input", historyMessagesKey: "history" } as const;
    const steps = prompt.pipe(new SlowModel([long])).pipe(new StringOutputParser());
    const chain = withRedisMemory(steps, { memory, onAbort: "keep", ...keys });
    for await (const word of await chain.stream({ input: "q" }, turn)) {
      expect(word).toBe("w0 ");
      break;
    }
    const after = await stored();
    expect([after.length, isInterrupted(after[1])]).toEqual([2, true]);
  });
});

async function drainStream(chain: Stopped, question = "q", config = turn): Promise<void> {
  await all(await chain.stream(question, config));
}

const closed = closedAfterEach();

describe("a summary that is paid for", () => {
  async function summarizing(reduceWhen?: "background") {
    const written = jest.fn(() => "summed up");
    const model = RunnableLambda.from(written);
    const reducer = new ChatHistorySummarizationReducer({ model: model as never, targetCount: 4, thresholdCount: 1 });
    const options = { redis: { keyPrefix: uniquePrefix() }, reducer, ...(reduceWhen && { reduceWhen }) };
    const onEvent = (event: MemoryEvent) => void events.push(event);
    const reduced = closed(new RedisChatMemory({ url: sharedRedisUrl(), ...options, onEvent }));
    const earlier = [human("a ".repeat(200)), ai("b ".repeat(200)), human("c"), ai("d")];
    await writeTurn(reduced.history("ann"), earlier, { turn: { reduce: false } });
    return { reduced, written };
  }

  const responses = ["the whole answer"];
  const doors = {
    "a chain": (memory: RedisChatMemory) => {
      const chain = withRedisMemory(new FakeListChatModel({ responses }), { memory });
      return async (id: string) => void (await chain.invoke([human(id, id)], { configurable: { sessionId: "ann" } }));
    },
    "an agent": (memory: RedisChatMemory) => {
      const middleware = [redisMemoryMiddleware({ memory })];
      const agent = createAgent({ model: new FakeListChatModel({ responses }), middleware });
      return async (id: string) =>
        void (await agent.invoke({ messages: [human(id, id)] }, { configurable: { sessionId: "ann" } }));
    },
  };

  it.each(Object.entries(doors))(
    "is made for the request that needs it by %s, not behind an answer",
    async (_, door) => {
      const { reduced, written } = await summarizing();
      const ask = door(reduced);
      await ask("one");
      expect(written).not.toHaveBeenCalled();
      await ask("two");
      expect(written).toHaveBeenCalledTimes(1);
      expect(events.filter(({ type }) => type === "reduced")).toHaveLength(1);
      expect(texts((await reduced.history("ann").getTranscript()).slice(-4))).toEqual([
        ...["one", ...responses],
        ...["two", ...responses],
      ]);
    },
  );

  it.each(Object.entries(doors))(
    "is made behind an answer of %s in the background, where that is chosen",
    async (_, door) => {
      const { reduced, written } = await summarizing("background");
      await door(reduced)("one");
      await reduced.drain();
      expect(written).toHaveBeenCalledTimes(1);
      expect(events.filter(({ type }) => type === "reduced")).toHaveLength(1);
    },
  );
});
