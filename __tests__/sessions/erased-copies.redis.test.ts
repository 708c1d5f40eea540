import { expectTombstone } from "../support/tombstones.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { forkOf, records } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const guardMs = 60_000;
const list = records("a", 1_200);

describe("a copy whose source is erased before it is complete", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keyPrefix: string;
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    await store.append({ id: "source", owner: "ann" }, { records: list });
  });
  afterEach(() => store.close());

  const staged = () => client.keys(`${keyPrefix}:*:staged:*`);

  it("leaves nothing of itself, and does not become a session", async () => {
    let erasing: Promise<unknown> | undefined;
    const copyRecord = (text: string, position: number) => {
      if (position === 100) {
        erasing ??= store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs });
      }
      return { record: text, identity: list[position] };
    };
    const outcome = await forkOf(store, { id: "source" }, { id: "copy" }, { copyRecord }).catch(
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
