import { setTimeout as delay } from "node:timers/promises";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { commandCalls } from "../support/command-calls.js";
import { ownServer } from "../support/own-server.js";
import { all, chunksOf } from "./spoken-source.js";

describe("a run and its reader in another process", () => {
  const own = ownServer(startRedis);

  // 1,000 words of a model that says 235 a second, in 85 batches: 910.
  it("cost at most 60 commands and 10 for each batch of 50 ms, however many words, also those in scripts", async () => {
    const words = 500;
    const memories = [
      new RedisChatMemory({ url: own.server.url }),
      new RedisChatMemory({ url: own.server.url }),
    ] as const;
    const [runs, others] = [redisRuns(memories[0]), redisRuns(memories[1])];
    await Promise.all([runs.active("s"), others.active("s")]);
    const before = await commandCalls(own.client);
    const began = performance.now();
    const run = await runs.start("s", { turnId: "t" }, async function* () {
      for (let index = 0; index < words; index += 1) {
        yield `word ${index}`;
        await delay(5);
      }
    });
    const [heard] = await Promise.all([all(others.join("s", { turnId: "t" })), all(run)]);
    const batches = (performance.now() - began) / 50;
    expect(chunksOf(heard)).toHaveLength(words);
    const after = await commandCalls(own.client);
    const calls = [...after].reduce((sum, [name, count]) => sum + count - (before.get(name) ?? 0), 0);
    expect(calls).toBeLessThanOrEqual(60 + 10 * batches);
    await Promise.all(memories.map((memory) => memory.close()));
  });
});
