import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import { asRead, human, record, texts } from "../../testing/session-store/store-case.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const session = { id: "s" };
const chat = [human("q1"), record("a1"), human("q2"), record("a2")];
const other = record("a2", { text: "other" });

const client = sharedClient();
let keyPrefix: string;

describe.each(["Redis", "memory"])("The texts of a session in %s", (kind) => {
  let store: SessionStore;
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = kind === "Redis" ? new RedisSessionStore({ client, keyPrefix }) : new InMemorySessionStore();
    await store.append(session, { records: chat });
  });

  async function swapped(request: Omit<Parameters<SessionStore["edits"]["swapRecords"]>[1], "epoch">) {
    const { epoch } = await store.readView(session);
    return store.edits.swapRecords(session, { epoch, ...request });
  }
  const log = async () => (await store.readLog(session)).records;
  const reduced = async (discards: boolean) =>
    store.commitReduction(session, {
      ...{ ...asRead(await store.readView(session)), start: 2, head: "summary", headCount: 1 },
      ...(discards && { discard: true }),
    });

  it("are swapped at their positions, also behind discarded ones", async () => {
    await reduced(true);
    const swap = { was: chat[3]!.record, text: other.record, identity: other };
    expect(await swapped({ records: [{ ...swap, position: 1 }] })).toBe(0);
    expect(await swapped({ records: [{ ...swap, position: 5 }] })).toBe(0);
    expect(await log()).toEqual(texts(chat.slice(2)));
    expect(await swapped({ records: [{ ...swap, position: 3 }] })).toBe(1);
    expect(await log()).toEqual(texts([chat[2]!, other]));
    expect(await store.append(session, { records: [other] })).toMatchObject({ appended: 0, duplicates: 1 });
  });

  it("are not made where there are none", async () => {
    expect(await swapped({ records: [{ position: 9, was: "", text: other.record }] })).toBe(0);
    expect(await swapped({ records: [], fields: [{ name: "side:note", was: "", text: "x" }] })).toBe(0);
    expect(await store.beside.readSide(session, "")).toEqual({});
    expect(await log()).toEqual(texts(chat));
  });

  it("keep the digest of an id that stands elsewhere", async () => {
    const swap = { position: 3, was: chat[3]!.record, text: other.record, identity: { ...other, id: "a1" } };
    expect(await swapped({ records: [swap] })).toBe(1);
    expect(await store.append(session, { records: [chat[1]!] })).toMatchObject({ appended: 0, duplicates: 1 });
  });

  it("beside the log are swapped only as they were read", async () => {
    await reduced(false);
    await store.beside.writeSide(session, { set: { note: "first" } });
    const fields = [
      { name: "head", was: "another", text: "x" },
      { name: "side:note", was: "before", text: "x" },
    ];
    expect(await swapped({ records: [], fields })).toBe(0);
    expect((await store.readView(session)).head).toBe("summary");
    expect(await store.beside.readSide(session, "")).toEqual({ note: "first" });
    const read = [
      { name: "head", was: "summary", text: "sealed summary" },
      { name: "side:note", was: "first", text: "sealed" },
    ];
    expect(await swapped({ records: [], fields: read })).toBe(2);
    expect((await store.readView(session)).head).toBe("sealed summary");
    expect(await store.beside.readSide(session, "")).toEqual({ note: "sealed" });
  });
});

it("The checksum of a log stays where no record is swapped", async () => {
  keyPrefix = uniquePrefix();
  const store = new RedisSessionStore({ client, keyPrefix });
  await store.append(session, { records: chat, side: { set: { note: "first" } } });
  const sum = () => client.hget(sessionKeys(keyPrefix, "s").state, "sum");
  const before = await sum();
  const { epoch } = await store.readView(session);
  const fields = [{ name: "side:note", was: "first", text: "sealed" }];
  expect(await store.edits.swapRecords(session, { epoch, records: [], fields })).toBe(1);
  expect(await sum()).toBe(before);
});
