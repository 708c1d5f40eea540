import { idHash, sessionKeys } from "../../src/redis/keys.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { asRead, records } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };

describe("The ids of discarded messages in Redis", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let state: string;
  beforeEach(() => {
    const keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    ({ state } = sessionKeys(keyPrefix, "s"));
  });

  const list = records("m", 140);
  const remember = { count: 1_000, seconds: 600 };
  async function discarded(from: number, to: number, kept = remember): Promise<void> {
    const forget = list.slice(from, to).map(({ id }) => id);
    const discard = { forget, remember: kept };
    const request = { ...asRead(await store.readView(session)), start: to, head: "", headCount: 0, discard };
    expect(await store.commitReduction(session, request)).toBe("committed");
  }
  const fields = () => client.hmget(state, "discarded", "discarded:1", "discarded:2");
  const known = async () => (await store.append(session, { records: list.slice(0, 4) })).duplicates;

  it("go on in the next field where one is lost", async () => {
    await store.append(session, { records: list });
    await discarded(0, 2);
    await client.hdel(state, "discarded:1");
    await discarded(2, 4);
    expect(await fields()).toEqual(["2 2 2", null, expect.stringContaining(idHash("m3"))]);
    expect(await known()).toBe(4);
  });

  it("are forgotten where it cannot be read when they were discarded", async () => {
    await store.append(session, { records: list });
    await discarded(0, 2);
    const chunk = (await client.hget(state, "discarded:1"))!;
    await client.hset(state, "discarded:1", chunk.replace(/\d{10}(?=.{32}$|$)/g, "no second!"));
    await discarded(2, 4);
    expect(await fields()).toEqual(["2 2 2", null, expect.stringContaining(idHash("m3"))]);
    expect(await known()).toBe(2);
  });

  it("need no further field where nothing is added to a full one", async () => {
    await store.append(session, { records: list });
    await discarded(0, 128);
    await discarded(128, 128);
    expect((await fields())[0]).toBe("1 1 128");
  });

  it("leave nothing where none is to be remembered", async () => {
    await store.append(session, { records: list });
    await discarded(0, 2, { count: 0, seconds: 600 });
    expect(await fields()).toEqual([null, null, null]);
    await discarded(2, 4);
    await discarded(4, 5, { count: 0, seconds: 600 });
    expect(await fields()).toEqual([null, null, null]);
    expect(await known()).toBe(0);
  });
});
