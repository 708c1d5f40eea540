import fc from "fast-check";
import { Redis } from "ioredis";
import { MemoryError, RedisChatMemory } from "langchain-redis-memory";
import { redisRuns, type RedisRuns, type RunItem } from "langchain-redis-memory/runs";
import { closedAfterEach } from "../support/closed-after-each.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { chunksOf, spoken } from "./spoken-source.js";

/** A reader that comes and goes: on which instances, and how many items it takes before it leaves. */
const visits = fc.array(fc.record({ instance: fc.nat(2), items: fc.integer({ min: 1, max: 12 }) }), { maxLength: 8 });
const scenes = fc.record({
  producer: fc.nat(2),
  chunks: fc.integer({ min: 0, max: 60 }),
  batchMs: fc.constantFrom(0, 1, 5),
  readers: fc.array(visits, { minLength: 1, maxLength: 5 }),
  /** Between which chunks all connections are broken. */
  cuts: fc.array(fc.nat(60), { maxLength: 3 }),
});

describe("readers of a run", () => {
  const closed = closedAfterEach();

  it("get every chunk once and in order, from any position, on any instance, over broken connections", async () => {
    const admin = closed(new Redis(sharedRedisUrl()));
    await fc.assert(
      fc.asyncProperty(scenes, async ({ producer, chunks, batchMs, readers, cuts }) => {
        const name = uniquePrefix();
        const memories = [0, 1, 2].map(() => open(name));
        const runs = memories.map((memory) => redisRuns(memory, { batchMs, lostAfterMs: 600_000 }));
        try {
          const { work, say, end } = spoken();
          await runs[producer]!.start("s", { turnId: "t" }, work);
          const reading = readers.map((reader) => readAll(runs, reader));
          for (let index = 0; index < chunks; index += 1) {
            await (cuts.includes(index) ? breakConnections(admin, name) : new Promise(setImmediate));
            say({ index });
          }
          end();
          const expected = Array.from({ length: chunks }, (_, index) => ({ index }));
          for (const items of await Promise.all(reading)) {
            expect(chunksOf(items)).toEqual(expected);
            expect(items.at(-1)).toEqual({ state: "done" });
          }
        } finally {
          await Promise.all(memories.map((memory) => memory.close()));
        }
      }),
      { numRuns: propertyRuns(10) },
    );
  });
});

function open(name: string): RedisChatMemory {
  const { hostname: host, port } = new URL(sharedRedisUrl());
  const config = { host, port: Number(port), connectionName: name };
  return new RedisChatMemory({ config, redis: { keyPrefix: name, commandTimeout: 60_000 } });
}

async function breakConnections(admin: Redis, name: string): Promise<void> {
  const list = String(await admin.client("LIST"));
  const ids = list
    .split("\n")
    .flatMap((line) => (line.includes(` name=${name} `) ? [/^id=(\d+)/.exec(line)![1]!] : []));
  await Promise.all(ids.map((id) => admin.client("KILL", "ID", id)));
}

/** Visits one after the other, each behind the last item of the one before; the last stays to the end. */
async function readAll(
  runs: readonly RedisRuns[],
  reader: readonly { readonly instance: number; readonly items: number }[],
): Promise<RunItem[]> {
  const got: RunItem[] = [];
  const last = { instance: 0, items: Infinity };
  for (const { instance, items } of [...reader, last]) {
    if (!got.some((item) => "state" in item)) {
      await visit(runs[instance]!, got, items);
    }
  }
  return got;
}

async function visit(runs: RedisRuns, got: RunItem[], items: number): Promise<void> {
  const end = got.length + items;
  while (got.length < end) {
    const after = got.findLast((item): item is RunItem & { id: string } => "id" in item)?.id;
    try {
      for await (const item of runs.join("s", { after: after ?? null })) {
        got.push(item);
        if (got.length === end) {
          break;
        }
      }
      return;
    } catch (error) {
      // A page's EventSource connects again.
      expect(MemoryError.isInstance(error) && error.retryable).toBe(true);
    }
  }
}
