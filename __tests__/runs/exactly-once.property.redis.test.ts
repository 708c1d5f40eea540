import fc from "fast-check";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { propertyRuns } from "../support/property-runs.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { chunksOf, readAll, spoken } from "./spoken-source.js";

/** The most readers of a run. */
const mostReaders = Number(process.env["RUN_READERS"] ?? 5);

/** A reader that comes and goes: on which instances, how many items it takes before it leaves, and how slowly. */
const visits = fc.array(
  fc.record({ instance: fc.nat(2), items: fc.integer({ min: 1, max: 12 }), pauseMs: fc.constantFrom(0, 0, 1) }),
  { maxLength: 8 },
);

/** Between which chunks all connections break, and whether replies are lost before. */
const cuts = fc.array(fc.record({ at: fc.nat(60), losesReplies: fc.boolean() }), { maxLength: 3 });

const scenes = fc.record({
  producer: fc.nat(2),
  form: fc.constantFrom({}, { encryption: testKeys("k1") }),
  chunks: fc.integer({ min: 0, max: 60 }),
  batchMs: fc.constantFrom(0, 1, 5),
  readers: fc.array(visits, { minLength: Math.ceil(mostReaders / 5), maxLength: mostReaders, size: "max" }),
  cuts,
});

describe("readers of a run", () => {
  it("get every chunk once and in order, from any position, on any instance, over broken connections", async () => {
    await fc.assert(
      fc.asyncProperty(scenes, async ({ producer, form, chunks, batchMs, readers, cuts }) => {
        const wire = await openWire();
        const redis = { keyPrefix: uniquePrefix(), commandTimeout: 60_000 };
        const memories = [0, 1, 2].map(() => new RedisChatMemory({ url: wire.url, redis, ...form }));
        const runs = memories.map((memory) => redisRuns(memory, { batchMs, lostAfterMs: 600_000 }));
        try {
          const { work, say, end } = spoken();
          await runs[producer]!.start("s", { turnId: "t" }, work);
          const reading = readers.map((reader) => readAll(runs, "s", reader));
          for (let index = 0; index < chunks; index += 1) {
            cuts.filter(({ at }) => at === index).forEach((cut) => wire.break(cut));
            await new Promise(setImmediate);
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
          await wire.stop();
        }
      }),
      { numRuns: propertyRuns(10) },
    );
  });
});

/** A way to Redis that breaks, at once or after some milliseconds in which commands arrive and replies do not. */
async function openWire() {
  const { hostname: host, port } = new URL(sharedRedisUrl());
  let isDeaf = false;
  const proxy = await startTcpProxy({ host, port: Number(port) }, (client, upstream) => {
    client.on("data", (data) => upstream.write(data));
    upstream.on("data", (data) => isDeaf || client.write(data));
  });
  const cut = () => {
    isDeaf = false;
    proxy.cut();
  };
  return {
    url: `redis://127.0.0.1:${proxy.port}`,
    break: ({ losesReplies }: { readonly losesReplies: boolean }) => {
      // Until the connection breaks: behind a lost reply the next one would be taken for it.
      isDeaf ||= losesReplies;
      setTimeout(cut, losesReplies ? 5 : 0);
    },
    stop: () => proxy.stop(),
  };
}
