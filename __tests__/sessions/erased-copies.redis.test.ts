import { expectTombstone } from "../support/tombstones.js";
import { Redis } from "ioredis";
import { ownerKey } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { forkOf, record, records, type Copying } from "../../testing/session-store/store-case.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const guardMs = 60_000;
const list = records("a", 1_200);

describe("a copy whose source is erased before it is complete", () => {
  let client: Redis;
  let store: RedisSessionStore;
  let keyPrefix: string;
  beforeAll(() => {
    client = new Redis(sharedRedisUrl());
  });
  afterAll(() => client.disconnect());
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    await store.append({ id: "source", owner: "ann" }, { records: list });
  });
  afterEach(() => store.close());

  /** Copies records as they are, and calls the function at the copy of one of them. */
  function copying(at: number, call: () => void): Copying {
    return {
      copyRecord: (text, position) => {
        if (position === at) {
          call();
        }
        const { id, digest } = record(`a${position + 1}`);
        return { record: text, identity: { id, digest } };
      },
    };
  }
  const staged = () => client.keys(`${keyPrefix}:*:staged:*`);

  it("leaves nothing of itself, and does not become a session", async () => {
    let erasing: Promise<unknown> | undefined;
    const request = copying(100, () => {
      erasing ??= store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs });
    });
    const outcome = await forkOf(store, { id: "source" }, { id: "copy" }, request).catch(
      ({ code }: { code: string }) => code,
    );
    await erasing;
    expect(outcome ?? "no source").toEqual(expect.any(String));
    await store.lists.flush();
    expect(await staged()).toEqual([]);
    expect((await store.readView({ id: "copy" })).epoch).toBe("");
    for (const key of await client.keys(`${keyPrefix}*`)) {
      await expectTombstone(client, key);
    }
  });

  it.each([
    ["the same owner", undefined],
    ["another owner", "bob"],
  ])("does not become a session of %s when the erasure has ended", async (_, owner) => {
    let isHeld = false;
    const held = interceptedClient(client, async (send, [, keys]) => {
      // The last step has the keys of the copy, and of the session that it becomes.
      if (Number(keys) === 6) {
        isHeld = true;
        await store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs });
      }
      return send();
    });
    const slow = new RedisSessionStore({ client: held, keyPrefix });
    const request = copying(-1, () => undefined);
    const target = { id: "copy", ...(owner !== undefined && { owner }) };
    await expect(forkOf(slow, { id: "source" }, target, request)).rejects.toMatchObject({ code: "erased" });
    expect(isHeld).toBe(true);
    expect((await store.readView({ id: "copy" })).epoch).toBe("");
    expect(await staged()).toEqual([]);
    await slow.close();
    expect(await client.exists(ownerKey(keyPrefix, "ann"))).toBe(0);
  });

  it("is erased with it where its process died", async () => {
    const identified = list.map(({ record: text, id, digest }) => ({ record: text, identity: { id, digest } }));
    void store.copies.create(
      { id: "copy" },
      {
        base: 0,
        owners: ["ann"],
        pages: async function* () {
          yield { records: identified, turns: [] };
          await new Promise(() => undefined);
        },
        finish: () => Promise.reject(new Error("It has died.")),
      },
    );
    while ((await staged()).length < 3) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect(await staged()).toHaveLength(3);
    expect(await store.lists.eraseOwners({ owners: ["bob"], unlisted: true, guardMs })).toBe(0);
    expect(await staged()).toHaveLength(3);
    expect(await store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs })).toBe(1);
    expect(await staged()).toEqual([]);
  });
});
