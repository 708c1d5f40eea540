import { setTimeout as delay } from "node:timers/promises";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { startRedis } from "../../testkit/servers/redis-server.js";
import { commandCalls } from "../support/command-calls.js";
import { ownServer } from "../support/own-server.js";
import { all, chunksOf } from "./spoken-source.js";

describe("a run and its reader in another process", () => {
  const own = ownServer(startRedis);

  it("cost at most 1,300 commands for 1,000 words of a quick model, also those in scripts", async () => {
    const words = 500;
    const memories = [
      new RedisChatMemory({ url: own.server.url }),
      new RedisChatMemory({ url: own.server.url }),
    ] as const;
    const [runs, others] = [redisRuns(memories[0]), redisRuns(memories[1])];
    await Promise.all([runs.active("s"), others.active("s")]);
    const before = await commandCalls(own.client);
    const run = await runs.start("s", { turnId: "t" }, async function* () {
      for (let index = 0; index < words; index += 1) {
        yield `word ${index}`;
        await delay(5);
      }
    });
    const [heard] = await Promise.all([all(others.join("s", { turnId: "t" })), all(run)]);
    expect(chunksOf(heard)).toHaveLength(words);
    const after = await commandCalls(own.client);
    const calls = [...after].reduce((sum, [name, count]) => sum + count - (before.get(name) ?? 0), 0);
    expect(calls).toBeLessThanOrEqual(1.3 * words);
    await Promise.all(memories.map((memory) => memory.close()));
  });
});
