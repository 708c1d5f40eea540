import fc from "fast-check";
import { Redis } from "ioredis";
import { setTimeout as pause } from "node:timers/promises";
import { ownerKey } from "../../src/store/redis/keys.js";
import { OwnerLists } from "../../src/store/redis-lists/owner-lists.js";
import { RedisSessionStore, wireOf } from "../../src/store/redis-store/redis-session-store.js";
import type { ListPlace } from "../../src/store/contract/lists.js";
import { propertyRuns } from "../support/property-runs.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

afterEach(closeMemories);

const owner = "ann";

it("a list that was lost is made anew, with each session at its place by time", async () => {
  const redis = { keyPrefix: uniquePrefix() };
  const memory = newMemory({ redis });
  for (const sessionId of ["first", "second", "third", "first"]) {
    await memory.history(sessionId, { owner }).append([human(sessionId)]);
    await memory.drain();
    // Sessions of one millisecond have no order by time.
    await pause(2);
  }
  const listed = async () => (await memory.sessions.list({ owner })).sessions.map(({ sessionId }) => sessionId);
  const before = await listed();
  const client = new Redis(sharedRedisUrl());
  await client.unlink(await client.keys(`${redis.keyPrefix}:{owner:*`)).finally(() => client.disconnect());
  expect(await listed()).toEqual([]);
  await memory.sessions.reindex();
  expect(await listed()).toEqual(before);
});

it("a walk meets each entry once and in order, however many have one score, and whatever their names", async () => {
  const entries = fc.uniqueArray(
    fc.record({ score: fc.nat(3), member: fc.oneof(fc.stringMatching(/^[a-d]{1,2}$/), fc.constantFrom("%zz", "%41")) }),
    { minLength: 1, maxLength: 20, selector: ({ member }) => member },
  );
  const store = new RedisSessionStore({ url: sharedRedisUrl(), keyPrefix: uniquePrefix() });
  const { runner, keyPrefix } = wireOf(store)!;
  const lists = new OwnerLists(runner, keyPrefix);
  const client = new Redis(sharedRedisUrl());
  const key = ownerKey(keyPrefix, owner);
  const walk = async (all: readonly { score: number; member: string }[], limit: number) => {
    await client.unlink(key);
    await client.zadd(key, ...all.flatMap(({ score, member }) => [score, member]));
    const met: string[] = [];
    let before: ListPlace | undefined;
    do {
      const page = await lists.page(owner, { limit, before });
      met.push(...page.entries.map(({ member }) => member));
      expect(page.entries.length).toBeLessThanOrEqual(limit);
      before = page.next;
    } while (before !== undefined);
    expect(met).toEqual(await client.zrange(key, "+inf", "-inf", "BYSCORE", "REV"));
  };
  try {
    await fc.assert(fc.asyncProperty(entries, fc.integer({ min: 1, max: 7 }), walk), { numRuns: propertyRuns(100) });
  } finally {
    await store.close();
    client.disconnect();
  }
});
