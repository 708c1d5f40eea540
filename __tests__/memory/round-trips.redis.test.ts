import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { type FaultProxy, startFaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { lookup, lookupCall, stepsModel, ToolModel } from "../support/agents.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { Redis } from "ioredis";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  approximateCounter,
  contextWindow,
  type MemorySettings,
  RedisChatMemory,
  tiktokenCounter,
  type TokenCounter,
  withRedisMemory,
} from "../../src/entries/index.js";

let proxy: FaultProxy;
let client: Redis;

beforeAll(async () => {
  proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
  client = new Redis(sharedRedisUrl());
});
afterAll(async () => {
  client.disconnect();
  await proxy.stop();
});

/** Counted on the wire, between the client and the server, and not by what the package says of itself. */
async function tripsOf(action: () => Promise<unknown>): Promise<number> {
  proxy.resetFlights();
  await action();
  return proxy.flights();
}

describe("round trips, counted at the socket", () => {
  let history: RedisChatMessageHistory;

  beforeAll(async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    const options = { redis: { keyPrefix: uniquePrefix() }, sessionTTL: 60, reducer };
    history = new RedisChatMessageHistory({ sessionId: "ann", url: proxy.url, ...options });
    await history.getMessages();
  });
  afterAll(() => history.close());

  it("a read needs one, also for an empty session and a reduced view", async () => {
    expect(await tripsOf(() => history.getMessages())).toBe(1);
    await history.addMessages(Array.from({ length: 20 }, (_, index) => human(`m${index}`)));
    expect(await tripsOf(() => history.getMessages())).toBe(1);
    expect(await history.getMessages()).toHaveLength(4);
  });

  it.each([1, 10, 1000])("a write of %d messages with a time to live needs one", async (count) => {
    const other = new RedisChatMessageHistory({
      sessionId: `writes ${count}`,
      url: proxy.url,
      redis: { keyPrefix: uniquePrefix() },
      sessionTTL: 60,
    });
    await other.getMessages();
    const messages = Array.from({ length: count }, (_, index) =>
      index % 2 === 0 ? human(`q${index}`) : ai(`a${index}`),
    );
    expect(await tripsOf(() => other.addMessages(messages))).toBe(1);
    expect(await tripsOf(() => other.getTranscript())).toBe(1);
    await other.close();
  });

  it("a turn needs two, or three if it reduces", async () => {
    const trips: number[] = [];
    for (let turn = 0; turn < 6; turn += 1) {
      const turnTrips = await tripsOf(async () => {
        await history.getMessages();
        await history.addMessages([human(`q${turn}`), ai(`a${turn}`)]);
      });
      trips.push(turnTrips);
    }
    expect([...new Set(trips)].sort()).toEqual([2, 3]);
  });

  describe("with the defaults of chains and agents, the hold of the session included", () => {
    const open = async () => {
      const memory = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix: uniquePrefix() }, sessionTTL: 60 });
      await memory.history("warm").getMessages();
      return memory;
    };
    const session = (turnId?: string) => ({ configurable: { sessionId: "ann", ...(turnId && { turnId }) } });

    it("a chain's turn needs two, one that is stored one, and one that has to read first three", async () => {
      await using memory = await open();
      const chain = withRedisMemory(new ToolModel(() => "a"), { memory });
      expect(await tripsOf(() => chain.invoke([human("q")], session()))).toBe(2);
      expect(await tripsOf(() => chain.invoke([human("r")], session("t")))).toBe(2);
      expect(await tripsOf(() => chain.invoke([human("r")], session("t")))).toBe(1);
      expect(await tripsOf(() => chain.invoke([new SystemMessage("s"), human("u")], session("u")))).toBe(3);
      const atOnce = withRedisMemory(new ToolModel(() => "a"), { memory, persist: "turn" });
      expect(await tripsOf(() => atOnce.invoke([human("v")], session("v")))).toBe(2);
      expect(await tripsOf(() => atOnce.invoke([human("v")], session("v")))).toBe(1);
      expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
    });

    it("an agent's turn needs one for each model call and one at the end, and one that is stored one", async () => {
      await using memory = await open();
      const agentOf = (steps: number, persist?: "turn") => {
        const middleware = [redisMemoryMiddleware({ memory, ...(persist && { persist }) })];
        return createAgent({ model: stepsModel(steps), tools: [lookup], middleware });
      };
      const ask = (id: string) => ({ messages: [human("q", id)] });
      expect(await tripsOf(() => agentOf(0).invoke(ask("q1"), session()))).toBe(2);
      expect(await tripsOf(() => agentOf(3).invoke(ask("q2"), session()))).toBe(5);
      expect(await tripsOf(() => agentOf(3).invoke(ask("q2"), session()))).toBe(1);
      expect(await tripsOf(() => agentOf(3, "turn").invoke(ask("q3"), session()))).toBe(2);
      const middleware = [redisMemoryMiddleware({ memory })];
      const beside = createAgent({
        model: stepsModel(0),
        tools: [lookup],
        middleware,
        checkpointer: new MemorySaver(),
      });
      const thread = { configurable: { thread_id: "bob" } };
      await beside.invoke(ask("q4"), thread);
      expect(await tripsOf(() => beside.invoke(ask("q5"), thread))).toBe(2);
      expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
    });
  });
});

/** A model with a window that says what each request was billed, and calls a tool for each question. */
class BilledModel extends ToolModel {
  constructor(
    readonly model: string,
    readonly window: number | undefined,
    readonly callsTool = true,
  ) {
    super((messages) => this.#answer(messages));
  }

  override get profile() {
    return this.window === undefined ? {} : { maxInputTokens: this.window };
  }

  #answer(messages: readonly BaseMessage[]): AIMessage {
    const call = HumanMessage.isInstance(messages.at(-1)) && this.callsTool ? lookupCall("a").tool_calls : [];
    const usage_metadata = { input_tokens: 123_456, output_tokens: 10, total_tokens: 123_466 };
    return new AIMessage({
      content: "It is so.",
      id: `ai-${this.sent.length}`,
      tool_calls: call ?? [],
      usage_metadata,
    });
  }
}

const prompt = { systemPrompt: "You are helpful. ".repeat(20) };
const session = { configurable: { sessionId: "s" } };
const question = (turn: number) => ({ messages: [new HumanMessage({ content: "Where to?", id: `q-${turn}` })] });

describe("what a window costs", () => {
  /** Round trips of each turn. */
  async function turns(door: "agent" | "chain", settings: MemorySettings, model: BilledModel): Promise<number[]> {
    await using memory = new RedisChatMemory({ url: proxy.url, redis: { keyPrefix: uniquePrefix() }, ...settings });
    const chain = withRedisMemory(model, { memory });
    const agent = createAgent({ model, tools: [lookup], ...prompt, middleware: [redisMemoryMiddleware({ memory })] });
    await memory.history("warm").getMessages();
    const trips: number[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      const ask = question(turn);
      const run = () => (door === "agent" ? agent.invoke(ask, session) : chain.invoke(ask.messages, session));
      trips.push(await tripsOf(run));
    }
    return trips;
  }

  it.each(["agent", "chain"] as const)("no round trip of a turn through the %s's door", async (door) => {
    const modelOf = (window: number | undefined) => new BilledModel("m", window, door === "agent");
    const expected = await turns(door, { reducer: "none" }, modelOf(undefined));
    expect(expected).toEqual(Array.from({ length: 4 }, () => (door === "agent" ? 3 : 2)));
    expect(await turns(door, {}, modelOf(1_000_000))).toEqual(expected);
    expect(await turns(door, {}, modelOf(undefined))).toEqual(expected);
    const whole = contextWindow({ maxInputTokens: 1_000_000, ...prompt });
    expect(await turns(door, { reducer: whole }, modelOf(undefined))).toEqual(expected);
  });

  it.each(["gpt-5.2", "claude-sonnet-4-5-20250929", `accounts/${"a-deployment/".repeat(9)}`])(
    "at most 60 bytes of Redis for an answer of %s, its own count included",
    async (name) => {
      const recordsWith = async (tokenCounter: TokenCounter) => {
        const keyPrefix = uniquePrefix();
        const reducer = contextWindow({ tokenCounter });
        await using memory = new RedisChatMemory({ url: sharedRedisUrl(), redis: { keyPrefix }, reducer });
        const middleware = [redisMemoryMiddleware({ memory })];
        const agent = createAgent({ model: new BilledModel(name, 1_000_000), tools: [lookup], ...prompt, middleware });
        await agent.invoke(question(0), session);
        const [key] = await client.keys(`${keyPrefix}*log`);
        return (await client.lrange(key!, 0, -1)).filter((record) => record.startsWith('{"type":"ai"'));
      };
      for (const counter of [approximateCounter(), tiktokenCounter()]) {
        const records = await recordsWith(counter);
        expect(records).toHaveLength(2);
        const bytes = records.map((record) => Buffer.byteLength(record) - Buffer.byteLength(withoutTokens(record)));
        expect(Math.min(...bytes)).toBeGreaterThan(0);
        expect(Math.max(...bytes)).toBeLessThanOrEqual(60);
      }
    },
  );
});

/** The record as it would be stored if no tokens were kept with it. */
function withoutTokens(record: string): string {
  const { meta, ...rest } = JSON.parse(record) as { meta: { tokens?: unknown } };
  const { tokens, ...others } = meta;
  expect(tokens).toBeDefined();
  return JSON.stringify({ ...rest, meta: others });
}
