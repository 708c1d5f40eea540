import { Redis } from "ioredis";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

describe("A batch of ioredis", () => {
  const chat = [human("q1"), record("a1")];
  let client: Redis;
  beforeEach(() => {
    client = new Redis(sharedRedisUrl());
  });
  afterEach(() => client.disconnect());

  it("holds nothing once it has its replies, so that V8, which keeps it, does not keep them", async () => {
    const multi = jest.spyOn(client, "multi");
    const store = new RedisSessionStore({ client, keyPrefix: uniquePrefix(), viewCacheBytes: 0 });
    await store.append({ id: "s" }, { records: chat });
    await store.readView({ id: "s" });
    const view = await store.readView({ id: "s" });
    expect(view.records).toEqual(texts(chat));
    const batches = multi.mock.results.map(({ value }) => value as object);
    expect(batches.length).toBeGreaterThan(0);
    expect(batches.flatMap((batch) => Object.values(batch)).filter((value) => value !== undefined)).toEqual([]);
  });
});
