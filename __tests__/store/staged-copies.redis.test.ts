import { readLog, type CopiedTurn, type CopyPage } from "../../src/store/contract/session-data.js";
import { logSum, sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { replacing } from "../../testing/session-store/replaced-session.js";
import { storedTurn, record, texts } from "../../testing/session-store/store-case.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const source = { id: "s" };
const copy = { id: "copy" };
const list = ["a", "b", "c", "d", "e"].map((id) => record(id));
const turn = "turn-name-0001";

const client = sharedClient();
let keyPrefix: string;
let store: RedisSessionStore;

beforeEach(async () => {
  keyPrefix = uniquePrefix();
  store = new RedisSessionStore({ client, keyPrefix });
  await store.append(source, { records: list });
});

describe("A copy that is made page by page", () => {
  const pageOf = (records: readonly NewRecord[], turns: readonly CopiedTurn[] = []) => ({
    records: records.map((each) => ({ record: each.record, identity: each })),
    turns,
  });
  const staged = () => client.keys(`${keyPrefix}:*:staged:*`);

  /** Makes the copy; `between` is called before the second page, `atEnd` behind the last. */
  async function made(
    pages: readonly CopyPage[],
    options: { by?: RedisSessionStore; between?: () => Promise<unknown>; atEnd?: () => Promise<unknown> } = {},
  ) {
    const { by = store, between, atEnd } = options;
    const state = (await store.copies.read(source))!;
    return by.copies.create(copy, {
      base: 0,
      pages: async function* () {
        for (const [index, page] of pages.entries()) {
          await (index === 1 && between?.());
          yield page;
        }
      },
      finish: async () => (await atEnd?.(), state),
    });
  }
  const halves = [pageOf(list.slice(0, 2)), pageOf(list.slice(2))] as const;

  it("is that of its records, also where each page is sent twice", async () => {
    const twice = interceptedClient(client, async (send, args) => {
      const result = await send();
      return args.some((arg) => /^\{.*"from":/.test(String(arg))) ? send() : result;
    });
    expect(await made(halves, { by: new RedisSessionStore({ client: twice, keyPrefix }) })).toMatchObject({ next: 5 });
    expect(await store.readView(copy)).toMatchObject({ damaged: false, records: texts(list) });
    expect(Number(await client.hget(sessionKeys(keyPrefix, "copy").state, "sum"))).toBe(logSum(texts(list)));
    expect(await store.append(copy, { records: list })).toMatchObject({ appended: 0, duplicates: 5 });
  });

  it("expires while it is incomplete, and is not made of its second page alone", async () => {
    const between = async () => {
      const keys = await staged();
      const lives = await Promise.all(keys.map((key) => client.pttl(key)));
      expect(lives).toHaveLength(3);
      expect(Math.min(...lives)).toBeGreaterThan(60_000);
      await client.unlink(keys);
    };
    expect(await made(halves, { between })).toBeUndefined();
    expect(await staged()).toEqual([]);
    expect((await store.readView(copy)).epoch).toBe("");
  });

  it.each([[halves], [[]]])("is refused where another writer began it before its end (%#)", async (pages) => {
    const atEnd = () => store.append(copy, { records: [record("other")] });
    await expect(made(pages, { atEnd })).rejects.toMatchObject({ code: "exists" });
    expect((await readLog(store, copy)).records).toEqual(texts([record("other")]));
  });

  it("is not begun where its pages have expired before its end", async () => {
    expect(await made(halves, { atEnd: async () => client.unlink(await staged()) })).toBeUndefined();
    expect(await client.exists(sessionKeys(keyPrefix, "copy").state)).toBe(0);
  });

  it("has one mark for a turn on both, which is done with its last record", async () => {
    const marks = (doneAt: number): [CopiedTurn, CopiedTurn] => [
      { name: turn, count: 1, first: 1, doneAt },
      { name: turn, count: 2, first: 2, doneAt },
    ];
    const [first, second] = marks(3);
    await made([pageOf(list.slice(0, 2), [first]), pageOf(list.slice(2), [second])]);
    expect(await storedTurn(store, copy, turn)).toMatchObject({
      done: true,
      count: 3,
      first: 1,
      records: texts(list.slice(1, 4)),
    });
  });

  it("is whole where two records have one id", async () => {
    const again = [record("x"), record("x", { text: "more" })];
    await made([pageOf(again), pageOf([record("x", { text: "and more" }), record("y")])]);
    expect(await store.readView(copy)).toMatchObject({ damaged: false, next: 4 });
    const names = await client.hkeys(sessionKeys(keyPrefix, "copy").ids);
    expect(names).toHaveLength(5);
    expect(names.every((name) => name.length === 14)).toBe(true);
    expect(await store.append(copy, { records: [record("x"), record("y")] })).toMatchObject({ duplicates: 2 });
  });
});

describe("A copy that takes the place of its session", () => {
  it("has taken it also where its script is sent twice", async () => {
    const twice = interceptedClient(client, async (send, args) => {
      const result = await send();
      return args.some((arg) => /"exact":/.test(String(arg))) ? send() : result;
    });
    const replaced = new RedisSessionStore({ client: twice, keyPrefix });
    const was = (await store.copies.read(source))!;
    const key = { key: "x3Rk90aB k1", dek: "wrapped" };
    const records = list.map((each) => ({ ...each, record: `${each.record} sealed`, digest: "sealed--" }));
    expect(await replaced.copies.replace(source, replacing(was, { records, key }))).toBe("replaced");
    const caller = { ...source, keys: { name: "x3Rk90aB" } };
    expect((await readLog(store, caller)).records).toEqual(texts(records));
  });
});
