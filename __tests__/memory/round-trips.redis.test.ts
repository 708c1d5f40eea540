import { SystemMessage } from "@langchain/core/messages";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { startFaultProxy, type FaultProxy } from "../../tools/testkit/proxies/fault-proxy.js";
import { lookup, stepsModel, ToolModel } from "../support/agents.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

/** Counted on the wire, between the client and the server, and not by what the package says of itself. */
describe("round trips, counted at the socket", () => {
  let proxy: FaultProxy;
  let history: RedisChatMessageHistory;

  beforeAll(async () => {
    proxy = await startFaultProxy(Number(new URL(sharedRedisUrl()).port));
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    history = new RedisChatMessageHistory({
      sessionId: "ann",
      url: proxy.url,
      redis: { keyPrefix: uniquePrefix() },
      sessionTTL: 60,
      reducer,
    });
    await history.getMessages();
  });

  afterAll(async () => {
    await history.close();
    await proxy.stop();
  });

  async function tripsOf(action: () => Promise<unknown>): Promise<number> {
    proxy.resetFlights();
    await action();
    return proxy.flights();
  }

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
      expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
    });
  });
});
