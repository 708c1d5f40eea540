import { HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { StoreError } from "../../src/base/errors.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { sketch, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

afterEach(closeMemories);

const config = { configurable: { sessionId: "ann", turnId: "job" } };
const question = new HumanMessage({ content: "look", id: "q" });
const newModel = () => new ToolModel((messages) => `to ${sketch(messages).join(" | ")}`);

const doors = {
  chain: (memory: RedisChatMemory, model: ToolModel) =>
    withRedisMemory(model, { memory, persist: "turn" }).invoke([question], config),
  agent: (memory: RedisChatMemory, model: ToolModel) =>
    createAgent({ model, middleware: [redisMemoryMiddleware({ memory, persist: "turn" })] }).invoke(
      { messages: [question] },
      config,
    ),
};

async function evictLog(keyPrefix: string): Promise<void> {
  const client = new Redis(sharedRedisUrl());
  await client.unlink(sessionKeys(keyPrefix, "ann").log);
  client.disconnect();
}

describe.each(["chain", "agent"] as const)(
  "a turn that is stored, and whose records Redis evicted, by the %s",
  (door) => {
    it("is refused as damaged, and no model is asked without the question", async () => {
      const redis = { keyPrefix: uniquePrefix() };
      const model = newModel();
      const memory = newMemory({ redis });
      await doors[door](memory, model);
      await evictLog(redis.keyPrefix);
      const error: unknown = await doors[door](memory, model).catch((thrown: unknown) => thrown);
      // LangChain wraps what an agent's middleware throws.
      const own = StoreError.isInstance(error) ? error : (error as Error).cause;
      expect(StoreError.isInstance(own) && own.code).toBe("damaged");
      expect(model.sent).toHaveLength(1);
    });

    it("is run anew where damaged sessions are to be rebuilt", async () => {
      const redis = { keyPrefix: uniquePrefix() };
      const model = newModel();
      const memory = newMemory({ redis, onDamage: "rebuild" });
      await doors[door](memory, model);
      await evictLog(redis.keyPrefix);
      await doors[door](memory, model);
      expect(sketch(await memory.history("ann").getTranscript())).toEqual(["look", "to look"]);
      expect(model.sent).toHaveLength(2);
    });
  },
);
