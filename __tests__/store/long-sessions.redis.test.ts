import { once } from "node:events";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { storedTurn, asRead, human, record, records, texts } from "../../testing/session-store/store-case.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { ownServer } from "../support/own-server.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { identify as identifyText } from "../support/store-commands.js";

const session = { id: "s", owner: "ann" };
const name = "fourteenLetter";
const log = records("m", 5_000).map((item, index) => (index % 2 === 0 ? human(item.id) : item));
const identify = (text: string) => ({ ...identifyText(text)!, turn: { name, ends: true } });

async function filled(store: RedisSessionStore, list: readonly NewRecord[] = log) {
  for (let from = 0; from < list.length; from += 1_000) {
    await store.append(session, { records: list.slice(from, from + 1_000) });
  }
}

describe("A session of thousands of messages", () => {
  const own = ownServer(startRedis);
  const keys = sessionKeys("lcmem", "s");
  const reads = async () => new RedisSessionStore({ client: own.client }).readView(session);

  /** The most records and fields that Redis handles in one script or command, by what MONITOR shows. */
  async function mostAtOnce(work: () => Promise<unknown>): Promise<number> {
    const monitor = await own.client.monitor();
    const lines: { readonly args: readonly string[]; readonly isInScript: boolean }[] = [];
    monitor.on("monitor", (_at: string, args: string[], source: string) =>
      lines.push({ args, isInScript: source === "lua" }),
    );
    await work();
    await own.client.echo("end");
    while (!lines.some(({ args }) => args[1] === "end")) {
      await once(monitor, "monitor");
    }
    monitor.disconnect();
    let [most, inScript] = [0, 0];
    for (const { args, isInScript } of lines) {
      const [first, last] = args.slice(2).map(Number) as [number, number];
      const size = /^lrange$/i.test(args[0]!) ? (last < 0 ? log.length : last - first + 1) : args.length;
      inScript = isInScript ? inScript + size : 0;
      most = Math.max(most, size, inScript);
    }
    return most;
  }

  beforeEach(async () => {
    await own.client.flushall();
    await filled(new RedisSessionStore({ client: own.client }));
  });
  const history = () => new RedisChatMemory({ client: own.client, reducer: "none" }).history("s", { owner: "ann" });

  it.each(["state", "ids"] as const)("is rebuilt in pieces where %s is lost", async (part) => {
    await own.client.unlink(keys[part]);
    expect(await mostAtOnce(() => history().rebuild())).toBeLessThan(4_000);
    expect(await reads()).toMatchObject({ damaged: false, records: texts(log) });
    expect(await own.client.keys("*staged*")).toEqual([]);
  });

  it("is rewound in pieces, and read no further back than to the message", async () => {
    expect(await mostAtOnce(() => history().rewind("m4999"))).toBeLessThan(500);
    expect(await mostAtOnce(() => history().rewind("m2501"))).toBeLessThan(4_000);
    expect(await reads()).toMatchObject({ damaged: false, records: texts(log.slice(0, 2_500)) });
    expect(await new RedisSessionStore({ client: own.client }).append(session, { records: log })).toMatchObject({
      appended: 2_500,
      duplicates: 2_500,
    });
  });
});

describe("The pieces of a long session", () => {
  const client = sharedClient();
  let keyPrefix: string;
  let store: RedisSessionStore;
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    await filled(store);
  });

  /** A store whose commands with a text are preceded by something else, the first time. */
  const interrupted = (text: string, before: () => Promise<unknown>) => {
    let isFirst = true;
    const slow = interceptedClient(client, async (send, args) => {
      if (isFirst && args.some((arg) => String(arg).includes(text))) {
        isFirst = false;
        await before();
      }
      return send();
    });
    return new RedisSessionStore({ client: slow, keyPrefix });
  };
  const known = (list: readonly NewRecord[]) => store.append(session, { records: list });

  it("know what was discarded, turns, and the owner after a rebuild", async () => {
    const { epoch, rev, next } = asRead(await store.readView(session));
    const commit = { epoch, rev, next, start: 2_500, head: "", headCount: 0, discard: true };
    await store.commitReduction(session, commit);
    await store.edits.rebuild(session, identify);
    expect(await storedTurn(store, session, name)).toMatchObject({ done: true, count: 2_500, first: 2_500 });
    expect(await known(log)).toMatchObject({ appended: 0, duplicates: 5_000 });
    await client.unlink(sessionKeys(keyPrefix, "s").state);
    await store.edits.rebuild(session, identify);
    expect(await store.readView(session)).toMatchObject({ damaged: false });
  });

  it("are rebuilt once more where another process wrote meanwhile, or they were lost", async () => {
    const other = record("other");
    const stagedKey = async () => (await client.keys(`${keyPrefix}:*:known`))[0]!;
    for (const before of [() => known([other]), async () => client.unlink(await stagedKey())]) {
      await interrupted('"staged"', before).edits.rebuild(session, identify);
      expect(await known([...log, other])).toMatchObject({ appended: 0, duplicates: 5_001 });
      expect(await client.keys(`${keyPrefix}:*staged*`)).toEqual([]);
    }
  });

  it("go with an erasure, also those that a process left that ended", async () => {
    const ended = interrupted('"staged"', async () => {
      await store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs: 60_000 });
      expect(await client.keys(`${keyPrefix}:*staged*`)).toEqual([]);
    });
    await expect(ended.edits.rebuild(session, identify)).rejects.toMatchObject({ code: "erased" });
  });

  it("go by a rewind also where another process adds a message in between", async () => {
    const slow = interrupted(`"to":4000`, () => known([record("late")]));
    await new RedisChatMemory({ store: slow }).history("s", { owner: "ann" }).rewind("m101");
    expect((await store.readView(session)).records).toEqual(texts(log.slice(0, 100)));
  });

  it("leave a session that can be read and rewound again where the process ends in between", async () => {
    const slow = interrupted(`"to":3000`, () => Promise.reject(new Error("ended")));
    await expect(new RedisChatMemory({ store: slow }).history("s", { owner: "ann" }).rewind("m101")).rejects.toThrow();
    expect(await store.readView(session)).toMatchObject({ damaged: false, records: texts(log.slice(0, 4_000)) });
    await new RedisChatMemory({ store }).history("s", { owner: "ann" }).rewind("m101");
    expect((await store.readView(session)).records).toEqual(texts(log.slice(0, 100)));
  });
});
