/** @jest-environment node */
import { Redis } from "ioredis";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human } from "../../testing/session-store/store-case.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

// In the environment that users have. In the realm that all other files share, `process.nextTick` cannot stand still.
describe("A read of a test that has stopped the clock", () => {
  it("is written and answered", async () => {
    const client = new Redis(sharedRedisUrl());
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix() });
    await store.append({ id: "s" }, { records: [human("q")] });
    jest.useFakeTimers({ doNotFake: [] });
    try {
      expect((await store.readView({ id: "s" }, { neverReduced: true })).records).toHaveLength(1);
    } finally {
      jest.useRealTimers();
      client.disconnect();
    }
  });
});
