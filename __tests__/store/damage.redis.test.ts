import { readLog } from "../../src/store/contract/session-data.js";
import { readLastRounds } from "../../src/memory/session/screen-pages.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const chat = [human("q1"), record("a1"), human("q2"), record("a2"), human("q3"), record("a3")];
const identify = (text: string) => chat.find((item) => item.record === text);

describe("A session with a missing key", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keys: ReturnType<typeof sessionKeys>;
  beforeEach(async () => {
    const keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    keys = sessionKeys(keyPrefix, "s");
    await store.append({ id: "s" }, { records: chat, ttlMs: 60_000, side: { set: { field: "x" } } });
    const view = await store.readView({ id: "s" });
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 4, head: "summary", headCount: 1 });
  });

  const missing = [["log"], ["ids"], ["state"], ["log", "ids"], ["ids", "state"]] as const;
  const unlink = (parts: readonly ("log" | "ids" | "state")[]) => client.unlink(...parts.map((part) => keys[part]));
  const contents = async () => [
    await client.lrange(keys.log, 0, -1),
    await client.hgetall(keys.ids),
    await client.hgetall(keys.state),
  ];

  it("still knows what was discarded when it was rebuilt, and does not where its ids were lost", async () => {
    const gone = chat.slice(0, 4);
    const discard = true;
    const view = await store.readView({ id: "s" });
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 4, head: "", headCount: 0, discard });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await store.data.readStats({ id: "s" })).toMatchObject({ rounds: 3, messages: 2 });
    const again = [...gone, record("n")];
    const appended = { appended: 1, duplicates: gone.length, conflicts: [], next: 7 };
    expect(await store.append({ id: "s" }, { records: again })).toMatchObject(appended);
    await unlink(["ids"]);
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await store.append({ id: "s" }, { records: gone })).toMatchObject({ appended: gone.length });
  });

  describe.each(missing.map((parts) => [parts.join(" and "), parts] as const))("(%s)", (_, parts) => {
    it("refuses appends, commits and rewinds, and changes nothing", async () => {
      const view = await store.readView({ id: "s" });
      await unlink(parts);
      const before = await contents();
      const damaged = expect.objectContaining({
        name: "StoreError",
        code: "damaged",
        sessionId: "s",
        message: expect.stringMatching(/rebuild\(\).*clear\(\)/),
      });
      await expect(
        store.append({ id: "s" }, { records: [record("n")], ttlMs: 99_000, side: { set: { field: "y" } } }),
      ).rejects.toEqual(damaged);
      await expect(store.append({ id: "s" }, { records: [], ttlMs: 99_000 })).rejects.toEqual(damaged);
      await expect(
        store.commitReduction({ id: "s" }, { ...asRead(view), start: 5, head: "", headCount: 0 }),
      ).rejects.toEqual(damaged);
      await expect(store.edits.rewind({ id: "s" }, { ...asRead(view), to: 2, forget: ["q2"] })).rejects.toEqual(
        damaged,
      );
      expect(await contents()).toEqual(before);
    });

    it("returns what is left, marked as damaged, whether its start was known or not", async () => {
      await unlink(parts);
      const other = new RedisSessionStore({ client, keyPrefix: keys.log.split(":{")[0]! });
      for (const reader of [store, other]) {
        const view = await reader.readView({ id: "s" });
        const lost = (parts as readonly string[]).includes("log");
        const stateless = (parts as readonly string[]).includes("state");
        expect(view.damaged).toBe(true);
        expect(view.records).toEqual(lost ? [] : stateless ? texts(chat) : texts(chat.slice(4)));
        expect([view.base, view.start, view.next]).toEqual(stateless ? [0, 0, 6] : [0, 4, 6]);
        expect(await readLog(reader, { id: "s" })).toMatchObject({ damaged: true, records: lost ? [] : texts(chat) });
        expect(await readLog(reader, { id: "s" }, { from: 3, limit: 2 })).toMatchObject({
          damaged: true,
          records: lost ? [] : texts(chat.slice(3, 5)),
        });
        const [page, stats] = [
          await reader.data.readPage({ id: "s" }, { limit: 9 }),
          await reader.data.readStats({ id: "s" }),
        ];
        expect(page).toMatchObject({ damaged: true, records: lost ? [] : texts(chat) });
        expect(stats).toMatchObject({ damaged: true, messages: lost ? 0 : 6 });
        expect(await readLastRounds(reader, { id: "s" }, 2)).toMatchObject({
          damaged: true,
          records: lost ? [] : texts(chat.slice(2)),
        });
      }
    });

    it("can be written again after a rebuild, which keeps what is left", async () => {
      const former = await store.readView({ id: "s" });
      await unlink(parts);
      await store.edits.rebuild({ id: "s" }, identify);
      const lost = (parts as readonly string[]).includes("log");
      const stateless = (parts as readonly string[]).includes("state");
      const view = await store.readView({ id: "s" });
      expect(view.damaged).toBe(false);
      expect(view.rev).not.toBe(former.rev);
      expect(view.epoch === former.epoch).toBe(!stateless);
      if (lost) {
        // Positions go on, so that none is given twice; the summary of what was before stays.
        expect(view).toMatchObject({ base: 6, start: 6, next: 6, head: "summary", records: [] });
      } else if (stateless) {
        expect(view).toMatchObject({ base: 0, start: 0, next: 6, head: "", headCount: 0, records: texts(chat) });
      } else {
        expect(view).toMatchObject({
          base: 0,
          start: 4,
          next: 6,
          head: "summary",
          headCount: 1,
          records: texts(chat.slice(4)),
        });
      }
      expect(await store.data.readSide({ id: "s" }, "")).toEqual(stateless ? {} : { field: "x" });
      const again = await store.append({ id: "s" }, { records: [...chat, human("q4")] });
      expect([again.appended, again.duplicates]).toEqual(lost ? [7, 0] : [1, 6]);
      expect((await readLastRounds(store, { id: "s" }, 1)).firstRound).toBe(lost ? 7 : 4);
    });

    it("can be written again after clear, and shows nothing from before", async () => {
      const former = await store.readView({ id: "s" });
      await unlink(parts);
      await store.clear({ id: "s" });
      expect(await client.exists(keys.log, keys.ids, keys.state)).toBe(0);
      const result = await store.append({ id: "s" }, { records: chat });
      expect([result.appended, result.next, result.epoch === former.epoch]).toEqual([6, 6, false]);
      expect(await store.readView({ id: "s" })).toMatchObject({ head: "", start: 0, damaged: false });
    });
  });

  it("starts a new session if only the ids are left, because they hold no message", async () => {
    await unlink(["log", "state"]);
    expect(await store.readView({ id: "s" })).toMatchObject({ epoch: "", damaged: false, records: [] });
    const result = await store.append({ id: "s" }, { records: chat });
    expect([result.appended, result.duplicates, result.next]).toEqual([6, 0, 6]);
    expect(await client.hlen(keys.ids)).toBe(7);
    expect(await client.pttl(keys.ids)).toBe(-1);
  });

  it("is none for a fork and an export if only the ids are left, and no empty copy comes to be", async () => {
    await unlink(["log", "state"]);
    expect(await store.copies.read({ id: "s" })).toBeUndefined();
    const memory = new RedisChatMemory({ store });
    await expect(memory.history("s").fork("copy")).rejects.toMatchObject({ code: "unknown_session" });
    const lines = await all(memory.sessions.export("s"));
    expect([lines, await store.data.readStats({ id: "copy" })]).toEqual([[], undefined]);
  });

  it("is damaged, too, if side fields were written after the state was lost", async () => {
    await unlink(["state"]);
    await expect(store.data.writeSide({ id: "s" }, { set: { field: "new" } })).rejects.toMatchObject({
      code: "damaged",
    });
    // Earlier releases wrote them.
    await client.hset(keys.state, { epoch: "e", rev: "e", created: 1, updated: 1, "side:field": "new" });
    expect(await store.readView({ id: "s" })).toMatchObject({ damaged: true, records: texts(chat), next: 6 });
    await expect(store.append({ id: "s" }, { records: [record("n")] })).rejects.toMatchObject({ code: "damaged" });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await store.readView({ id: "s" })).toMatchObject({ damaged: false, next: 6 });
    expect(await store.data.readSide({ id: "s" }, "")).toEqual({ field: "new" });
    await expect(store.append({ id: "s" }, { records: [record("n")] })).resolves.toMatchObject({ next: 7 });
  });

  it("is detected if another client pushed or popped records, and rebuilt from what is left", async () => {
    await client.rpush(keys.log, "no record");
    expect(await store.readView({ id: "s" })).toMatchObject({ damaged: true });
    await expect(store.append({ id: "s" }, { records: [record("n")] })).rejects.toMatchObject({ code: "damaged" });
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await store.readView({ id: "s" })).toMatchObject({ damaged: false, next: 7, start: 4, head: "summary" });
    await client.ltrim(keys.log, 0, 2);
    await store.edits.rebuild({ id: "s" }, identify);
    expect(await store.readView({ id: "s" })).toMatchObject({
      damaged: false,
      next: 3,
      start: 0,
      head: "",
      records: texts(chat.slice(0, 3)),
    });
  });
});
