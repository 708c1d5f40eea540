import { readLog } from "../../src/store/contract/session-pages.js";
import { idHash, sessionKeys, type SessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { storedTurn, asRead, forkOf, human, record, records, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify } from "../support/store-commands.js";

const session = { id: "s" };
const turn = "turn-name-0001";
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];

describe("The index of a session's ids", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keys: SessionKeys;
  beforeEach(() => {
    const keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    keys = sessionKeys(keyPrefix, "s");
  });

  it.each([
    ["is no number", "x"],
    ["is that of the next message", "4"],
    ["lies behind the end", "9"],
  ])("refuses what stands at a position that %s", async (_, position) => {
    await store.append(session, { records: chat });
    await client.hset(keys.ids, idHash("a2"), chat[3]!.digest + position);
    await expect(store.append(session, { records: chat.slice(3) })).rejects.toMatchObject({ code: "damaged" });
    expect((await readLog(store, session)).records).toEqual(texts(chat));
  });

  it("refuses a turn whose mark cannot be read, which is shown to nobody", async () => {
    const claim = { name: turn, stored: 0, done: false };
    await store.append(session, { records: chat, turn: claim });
    await client.hset(keys.ids, turn, "t000000x0");
    const more = { records: [human("q3")], turn: { ...claim, stored: 4 } };
    await expect(store.append(session, more)).rejects.toMatchObject({ code: "damaged" });
    await expect(store.append(session, { ...more, turn: claim })).rejects.toMatchObject({ code: "damaged" });
    expect(await storedTurn(store, session, turn)).toBeUndefined();
    expect((await readLog(store, session)).records).toEqual(texts(chat));
  });

  it("says nothing of a turn where all else of the session is lost", async () => {
    const request = { records: chat, turn: { name: turn, stored: 0, done: true } };
    await store.append(session, request);
    await client.unlink(keys.log, keys.state);
    expect(await store.append(session, request)).toMatchObject({ appended: 4, duplicates: 0 });
    expect((await readLog(store, session)).records).toEqual(texts(chat));
  });

  it.each([
    [undefined, 10],
    ["ann", 10],
    [undefined, 60],
    ["ann", 60],
  ] as const)(
    "forgets all behind the place of a rewind that could not read it (owner %s, %i messages)",
    async (owner, count) => {
      const caller = { ...session, ...(owner && { owner }) };
      const list = records("m", count);
      await store.append(caller, { records: list });
      const to = count / 2;
      await store.edits.rewind(caller, { ...asRead(await store.readView(session)), to, forget: [] });
      expect(await store.append(caller, { records: list })).toMatchObject({ appended: to, duplicates: to });
      expect((await readLog(store, session)).records).toEqual(texts(list));
    },
  );

  it("is not copied from a damaged session", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.ids);
    expect(await store.copies.read(session)).toMatchObject({ damaged: true });
    const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
    await expect(forkOf(store, session, { id: "copy" }, { copyRecord })).rejects.toMatchObject({ code: "damaged" });
  });

  it("has no page around a message that is gone, or stands where none can", async () => {
    await store.append(session, { records: chat });
    const discard = true;
    const reduced = { ...asRead(await store.readView(session)), start: 1, head: "", headCount: 0, discard };
    await store.commitReduction(session, reduced);
    await client.hset(keys.ids, idHash("q2"), `${chat[2]!.digest}4`, idHash("a2"), `${chat[3]!.digest}9`);
    for (const id of ["unknown", "q1", "q2", "a2"]) {
      expect(await store.data.readPage(session, { around: id, limit: 1 })).toBeUndefined();
      expect(await store.data.readPage(session, { since: id, limit: 1 })).toBeUndefined();
    }
    expect(await store.data.readPage(session, { around: "a1", limit: 1 })).toMatchObject({ from: 1, to: 2 });
  });

  it("counts the view as the whole log where the state is lost", async () => {
    await store.append(session, { records: chat });
    await client.unlink(keys.state);
    expect(await store.data.readStats(session)).toMatchObject({ damaged: true, messages: 4, viewMessages: 4 });
  });
});
