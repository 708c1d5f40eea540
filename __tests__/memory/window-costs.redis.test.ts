import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import {
  approximateCounter,
  contextWindow,
  RedisChatMemory,
  tiktokenCounter,
  withRedisMemory,
  type MemorySettings,
  type TokenCounter,
} from "../../src/entries/index.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

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

  async function tripsOf(action: () => Promise<unknown>): Promise<number> {
    proxy.resetFlights();
    await action();
    return proxy.flights();
  }

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
