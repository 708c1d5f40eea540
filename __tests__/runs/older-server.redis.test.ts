import { Redis } from "ioredis";
import { redisRuns } from "langchain-redis-memory/runs";
import { closedAfterEach } from "../support/closed-after-each.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all, chunksOf, first, spoken } from "./spoken-source.js";

afterEach(closeMemories);

const states = ["nothing", "an earlier run", "an earlier run without its end", "its begin", "some of it"] as const;
type State = (typeof states)[number];

describe("a run on a server that takes over with", () => {
  const closed = closedAfterEach();

  const cells = states.flatMap((state) =>
    (["plain", "sealed"] as const).flatMap((form) =>
      (["goes on", "ends", "has met its limit"] as const).map((then) => [state, then, form] as const),
    ),
  );

  it.each(cells)("%s is whole for every reader, where it %s (%s)", async (state, then, form) => {
    const redis = { keyPrefix: uniquePrefix() };
    const options = { redis, ...(form === "sealed" && { encryption: testKeys("k1") }) };
    const settings = { lostAfterMs: 600_000, batchMs: 1, maxRunBytes: 2_000 };
    const runs = [0, 1].map(() => redisRuns(newMemory(options), settings));
    const client = closed(new Redis(sharedRedisUrl()));
    const key = `${redis.keyPrefix}:{s}:run`;
    const kept = new Map<State, Buffer | null>([["nothing", null]]);
    const keep = async (name: State) => void kept.set(name, await client.dumpBuffer(key));

    const earlier = spoken();
    const before = all(await runs[0]!.start("s", { turnId: "t" }, earlier.work));
    earlier.say("x");
    await first(runs[1]!.join("s"), 1);
    await keep("an earlier run without its end");
    earlier.end();
    await before;
    await keep("an earlier run");

    const { work, say, end } = spoken();
    const run = await runs[0]!.start("s", { turnId: "u" }, work);
    await keep("its begin");
    const own = all(run);
    say("a");
    await first(runs[1]!.join("s"), 1);
    await keep("some of it");
    const remote = all(runs[1]!.join("s"));
    say("b");
    await first(runs[1]!.join("s"), 2);
    const isCut = then === "has met its limit";
    if (isCut) {
      say("c".repeat(3_000));
      // The reset comes behind what is stored.
      await first(runs[1]!.join("s"), 3);
    }
    const old = kept.get(state);
    await (old ? client.restore(key, 0, old, "REPLACE") : client.unlink(key));
    say(...(then === "goes on" ? ["c", "d"] : []));
    end();

    const words = then === "goes on" ? ["a", "b", "c", "d"] : ["a", "b"];
    for (const items of [await own, await remote, await all(runs[1]!.join("s", { turnId: "u" }))]) {
      expect(chunksOf(items)).toEqual(words);
      expect(items.slice(words.length)).toEqual([...(isCut ? [{ reset: true }] : []), { state: "done" }]);
    }
    expect(await client.pttl(key)).toBeGreaterThan(0);
    const next = await runs[1]!.start("s", { turnId: "v" }, async function* () {});
    expect(await all(next)).toEqual([{ state: "done" }]);
  });
});
