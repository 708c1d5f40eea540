import { readLog } from "../../src/store/contract/session-data.js";
import type { Redis } from "ioredis";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { summaryOf } from "../../src/store/contract/session-ref.js";
import { asRead, forkOf, human, record } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const life = 3_600_000;
const identify = (text: string) => chat.find((item) => item.record === text);

/** A write by a store that has read nothing of the session, as `reader` has. */
type Write = (store: RedisSessionStore, reader: RedisSessionStore) => Promise<unknown>;

/** Writes to the session of an owner whom the writer does not name. */
const writes: Readonly<Record<string, Write>> = {
  append: (store) => store.append(session, { records: [human("q3")], ttlMs: life }),
  "append of side fields": (store) =>
    store.append(session, { records: [], side: { set: { field: "x" } }, ttlMs: life }),
  writeSide: (store) => store.data.writeSide(session, { set: { field: "x" }, ttlMs: life }),
  extendExpiry: async (store) => {
    await store.append({ ...session, owner: "ann" }, { records: [], side: { set: { field: "x" } }, ttlMs: 60_000 });
    await store.lists.flush();
    return store.data.extendExpiry(session, life);
  },
  commitReduction: async (store, reader) => {
    const reduced = { start: 2, head: "summary", headCount: 1 };
    return store.commitReduction(session, { ...asRead(await reader.readView(session)), ...reduced });
  },
  replaceTail: async (store, reader) => {
    const cut = { ...asRead(await reader.readView(session)), to: 2, forget: chat.slice(2).map(({ id }) => id) };
    return store.edits.replaceTail(session, { records: [human("q3")], cut });
  },
  "rewind of everything": async (store, reader) => {
    const forget = chat.map(({ id }) => id);
    return store.edits.rewind(session, { ...asRead(await reader.readView(session)), to: 0, forget });
  },
  rewind: async (store, reader) => {
    const forget = chat.slice(2).map(({ id }) => id);
    return store.edits.rewind(session, { ...asRead(await reader.readView(session)), to: 2, forget });
  },
  rebuild: (store) => store.edits.rebuild(session, identify),
  relabel: (store) => store.lists.relabel(session, { label: { title: "New" }, version: "" }),
  restart: async (store) => {
    const place = await store.data.acquireHold(session, { ticket: "ticket", holdMs: 60_000, graceMs: 1_000 });
    return store.clear({ ...session, ...(place.isHeld && { hold: place.hold }) });
  },
};

describe("A write to a session of an owner whom it does not name", () => {
  const client = sharedClient();
  /** Carries out each script twice, as a client does that lost the first reply. */
  let repeating: RedisClient;
  beforeAll(() => {
    repeating = calling((send) => send());
  });

  /** A client that does something before it carries out a script; `send` carries it out. */
  function calling(before: (send: () => Promise<unknown>) => Promise<unknown>): RedisClient {
    const call = async (verb: string, args: string[]) => {
      const send = () => client.call(verb, args);
      await (verb.startsWith("eval") && before(send));
      return send();
    };
    const get = (target: Redis, name: string | symbol) =>
      name === "call" ? call : (Reflect.get(target, name) as unknown);
    return new Proxy(client, { get }) as unknown as RedisClient;
  }

  async function written(write: Write, by: RedisClient) {
    const keyPrefix = uniquePrefix();
    const first = new RedisSessionStore({ client, keyPrefix });
    await first.append({ ...session, owner: "ann" }, { records: chat });
    await first.append({ id: "other", owner: "ann" }, { records: chat });
    await first.lists.flush();
    const store = new RedisSessionStore({ client: by, keyPrefix });
    const result = await write(store, first);
    await store.lists.flush();
    const details = await first.lists.describe(session);
    const { sessions } = await first.lists.list("ann", { limit: 5 });
    await Promise.all([first, store].map((each) => each.close()));
    return { result, details, listed: sessions.find(({ sessionId }) => sessionId === "s") };
  }

  it.each(Object.entries(writes))("is seen in the owner's list: %s", async (name, write) => {
    const { details, listed } = await written(write, client);
    const owner = name === "restart" ? undefined : "ann";
    expect(details?.owner).toBe(owner);
    const { expiresAt, ...summary } = summaryOf(details!);
    expect(listed).toEqual(owner && { ...summary, ...(expiresAt !== undefined && { expiresAt: expect.any(Number) }) });
    // Each reading adds the time that is left to the time of the reading.
    expect(Math.abs((listed?.expiresAt ?? 0) - ((owner && expiresAt) ?? 0))).toBeLessThan(1_000);
  });

  it.each(Object.entries(writes))("is the same if it is carried out twice: %s", async (name, write) => {
    const seen = async (by: RedisClient) => {
      const { result, details, listed } = await written(write, by);
      // A session without an owner is in no list, but its entry may be there until somebody looks at it.
      const isListed = details?.owner !== undefined && listed?.updatedAt === details.updatedAt;
      // A new epoch is random.
      const answer = typeof result === "string" && name !== "restart" ? result : typeof result;
      return [answer, details?.messages, details?.rounds, details?.label, details?.owner, isListed];
    };
    expect(await seen(repeating)).toEqual(await seen(client));
  });

  it("shows what is too large for one view also if it is carried out twice", async () => {
    const replace: Write = async (store, reader) => {
      const cut = { ...asRead(await reader.readView(session)), to: 3, forget: ["a2"] };
      return store.edits.replaceTail(session, { records: [human("q3")], cut, viewLimit: { messages: 3 } });
    };
    for (const by of [client, repeating]) {
      expect(await written(replace, by)).toMatchObject({ result: { appended: 1, view: { next: 4 } } });
    }
  });

  it("is not in the list any more once the session is erased", async () => {
    const erase: Write = (store) => store.lists.erase(session, { guardMs: 1_000 });
    const gone = { result: true, details: undefined, listed: undefined };
    expect(await written(erase, client)).toEqual(gone);
    expect(await written(erase, repeating)).toEqual(gone);
    // One reply after the other is lost.
    const repeatedOften = calling(async (send) => [await send(), await send()]);
    expect(await written(erase, repeatedOften)).toEqual(gone);
  });

  it("has removed nothing if there was nothing, however often the erasure is carried out", async () => {
    const erase: Write = (store) => store.lists.erase({ id: "unknown" }, { guardMs: 1_000 });
    expect(await written(erase, client)).toMatchObject({ result: false });
    expect(await written(erase, repeating)).toMatchObject({ result: false });
  });

  it("is a copy once, however often it is carried out", async () => {
    const copyRecord = (text: string) => ({ record: text, identity: identify(text) });
    const fork: Write = (store) => forkOf(store, session, { id: "copy" }, { copyRecord });
    expect(await written(fork, client)).toMatchObject({ result: { next: 4 } });
    expect(await written(fork, repeating)).toMatchObject({ result: { next: 4 } });
  });

  it("removes by clear() the session that there was when it was called, and none of another owner", async () => {
    const clearing = async (meanwhile: (other: RedisSessionStore) => Promise<unknown>, owner?: string) => {
      const keyPrefix = uniquePrefix();
      const other = new RedisSessionStore({ client, keyPrefix });
      await other.append(session, { records: chat });
      // Both of its scripts are known to the server from here on.
      await other.clear({ id: "warm" });
      let round = 0;
      const interrupted = calling(async () => {
        round += 1;
        await (round === 2 && meanwhile(other));
      });
      const store = new RedisSessionStore({ client: interrupted, keyPrefix });
      const result = await store.clear({ ...session, ...(owner && { owner }) }).catch((error: unknown) => error);
      const { records } = await readLog(other, session);
      await Promise.all([other, store].map((each) => each.close()));
      return { result, records };
    };
    const renewed = async (other: RedisSessionStore) => {
      await other.clear(session);
      await other.append(session, { records: [human("q3")] });
    };
    expect(await clearing(renewed)).toEqual({ result: "", records: [human("q3").record] });
    const claimed = (other: RedisSessionStore) =>
      other.data.writeSide({ ...session, owner: "ben" }, { set: { f: "x" } });
    expect(await clearing(claimed, "ann")).toEqual({
      result: expect.objectContaining({ code: "other_owner" }),
      records: chat.map(({ record: text }) => text),
    });
  });
});
