/**
 * A process that produces a run of the session "s" for tests, holds the session meanwhile, and says on a line how it
 * ended.
 */
import { setTimeout as delay } from "node:timers/promises";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";

const [url, keyPrefix] = process.argv.slice(2) as [string, string];
const memory = new RedisChatMemory({ url, redis: { keyPrefix } });
const runs = redisRuns(memory, { lostAfterMs: 3_000 });
const holding = { release: () => {} };
const isOver = new Promise<void>((resolve) => (holding.release = resolve));
void memory.withTurn("s", () => isOver, { holdMs: 600_000 }).catch(() => undefined);

async function* words(signal: AbortSignal): AsyncGenerator<string> {
  for (let index = 0; !signal.aborted; index += 1) {
    yield `w${index}`;
    await delay(20);
  }
}

for await (const item of await runs.start("s", { turnId: "t" }, words)) {
  if ("state" in item) {
    process.stdout.write(`${item.state}\n`);
  }
}
holding.release();
