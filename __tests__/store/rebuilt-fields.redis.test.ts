import { readLog } from "../../src/store/contract/session-pages.js";
import type { RedisClient } from "../../src/store/redis/client.js";
import { sessionKeys, type SessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { ownerField } from "../../src/store/redis/stored-fields.js";
import { asRead, human, record, texts } from "../../testing/session-store/store-case.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const other = record("b2");
const identify = (text: string) => [...chat, other].find((item) => item.record === text);

describe("What a rebuild leaves in Redis", () => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: RedisSessionStore;
  let keys: SessionKeys;
  beforeEach(() => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    keys = sessionKeys(keyPrefix, "s");
  });
  const lives = () => Promise.all([keys.log, keys.ids, keys.state].map((key) => client.pttl(key)));

  it("is nothing where only ids were left", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.log, keys.state);
    await store.edits.rebuild(session, identify);
    expect(await client.exists(keys.log, keys.ids, keys.state)).toBe(0);
  });

  it("has no ids without a message", async () => {
    for (const owner of [undefined, "ann"]) {
      await store.data.writeSide({ ...session, ...(owner && { owner }) }, { set: { note: "x" } });
      await store.edits.rebuild(session, identify);
      expect(await client.exists(keys.log, keys.ids)).toBe(0);
    }
  });

  it("names the owner beside the ids", async () => {
    await store.append({ ...session, owner: "ann" }, { records: chat });
    await client.unlink(keys.ids);
    await store.edits.rebuild(session, identify);
    expect(await client.hget(keys.ids, ownerField)).toBe("ann");
  });

  it("keeps the data key in both hashes, of which one may be lost, and makes none", async () => {
    await store.append(session, { records: chat });
    await store.edits.rebuild(session, identify);
    expect(await client.hexists(keys.state, "key")).toBe(0);
    const made = { key: "AAAAAAAA k1 plain", dek: "wrapped" };
    await store.append(
      { ...session, keys: { name: "AAAAAAAA", made: { ...made, key: "AAAAAAAA k1" } } },
      { records: [human("q9")] },
    );
    for (const part of ["state", "ids"] as const) {
      await client.unlink(keys[part]);
      await store.edits.rebuild({ ...session, keys: { name: "AAAAAAAA" } }, identify);
      expect(await client.hmget(keys.state, "key", "dek")).toEqual([made.key, made.dek]);
      expect(await client.hmget(keys.ids, "[key]", "[dek]")).toEqual([made.key, made.dek]);
    }
  });

  it("expires like the log, or never", async () => {
    await store.append(session, { records: chat });
    await client.pexpire(keys.state, 60_000);
    await store.edits.rebuild(session, identify);
    expect(await lives()).toEqual([-1, -1, -1]);
    await client.pexpire(keys.log, 60_000);
    await store.edits.rebuild(session, identify);
    const found = await lives();
    expect(Math.min(...found)).toBeGreaterThan(30_000);
    expect(Math.max(...found)).toBeLessThanOrEqual(60_000);
  });

  it("knows what another process wrote while the log was read", async () => {
    await store.append(session, { records: chat });
    let isFirst = true;
    const slow = interceptedClient(client, async (send, args) => {
      if (isFirst && args.some((arg) => String(arg).includes('"newRev"'))) {
        isFirst = false;
        await store.edits.rewind(session, { ...asRead(await store.readView(session)), to: 3, forget: ["a2"] });
        await store.append(session, { records: [other] });
      }
      return send();
    });
    await new RedisSessionStore({ client: slow, keyPrefix }).edits.rebuild(session, identify);
    expect(isFirst).toBe(false);
    const written = [...chat.slice(0, 3), other];
    expect(await store.append(session, { records: written })).toMatchObject({ appended: 0, duplicates: 4 });
    expect((await readLog(store, session)).records).toEqual(texts(written));
  });

  it("is the same if it is carried out twice, of a session that has no owner", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.state);
    const twice = interceptedClient(client, async (send, args) => {
      await (args.some((arg) => String(arg).includes('"newRev"')) && send());
      return send();
    }) as unknown as RedisClient;
    await new RedisSessionStore({ client: twice, keyPrefix }).edits.rebuild(session, identify);
    expect(await store.readView(session)).toMatchObject({ damaged: false, records: texts(chat) });
  });
});
