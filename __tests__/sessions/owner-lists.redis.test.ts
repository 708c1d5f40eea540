import { setTimeout as pause } from "node:timers/promises";
import fc from "fast-check";
import { RedisSessionStore, wireOf } from "../../src/store/redis-store/redis-session-store.js";
import { ownerKey, sessionKeys } from "../../src/store/redis/keys.js";
import { forkOf, human, record, records } from "../../testing/session-store/store-case.js";
import { interceptedClient, type Intercept } from "../../tools/testkit/proxies/intercepted-client.js";
import { all } from "../support/all.js";
import { listOf } from "../support/listed-sessions.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { OwnerLists } from "../../src/store/redis-lists/owner-lists.js";
import type { ListPlace } from "../../src/store/contract/session-ref.js";
import { until } from "../../tools/testkit/servers/until.js";
import { propertyRuns } from "../support/property-runs.js";

const client = sharedClient();
const owner = "ann";
const guardMs = 60_000;

let keyPrefix: string;
let list: string;
let store: RedisSessionStore;
// Each intercepted client listens to the shared one.
beforeAll(() => client.setMaxListeners(0));
let others: RedisSessionStore[];
beforeEach(() => {
  keyPrefix = uniquePrefix();
  list = ownerKey(keyPrefix, owner);
  store = new RedisSessionStore({ client, keyPrefix, commandTimeout: 60_000 });
  others = [];
});
afterEach(() => Promise.all([store, ...others].map((each) => each.close())));

/** Another process, whose commands pass through a function. */
function another(around: Intercept = (send) => send()): RedisSessionStore {
  const other = new RedisSessionStore({ client: interceptedClient(client, around), keyPrefix, commandTimeout: 60_000 });
  others.push(other);
  return other;
}

const append = (by: RedisSessionStore, id: string, ttlMs?: number) =>
  by.append({ id, owner }, { records: [record(`m${Math.random()}`)], ...(ttlMs !== undefined && { ttlMs }) });
const listed = async (of = owner) => (await listOf(store, of, 3)).map(({ sessionId }) => sessionId);
const entries = (of = owner) => client.zrange(ownerKey(keyPrefix, of), "0", "-1");
const secondsAgo = async (seconds: number) => (Number((await client.time())[0]) - seconds) * 1_000_000;
const isOf = (args: readonly unknown[], key: string) => args.map(String).includes(key);

/** Begins the first write of a session by another process: its entry has arrived. Returns what lets it end. */
async function beginWrite(id: string): Promise<() => Promise<unknown>> {
  let letGo!: () => void;
  const held = new Promise<void>((resolve) => (letGo = resolve));
  const slow = another(async (send, args) => {
    await (isOf(args, sessionKeys(keyPrefix, id).state) && held);
    return send();
  });
  const written = append(slow, id);
  await until("the entry has arrived", async () => (await entries()).length > 0);
  expect(await entries()).toEqual([id]);
  return () => {
    letGo();
    return written;
  };
}

describe("a list of an owner names each session before it is written", () => {
  it("also one whose writer died in between: no page shows it, and one of a minute later drops it", async () => {
    await append(store, "alive");
    await client.zadd(list, await secondsAgo(50), "begins");
    await client.zadd(list, await secondsAgo(70), "died");
    expect(await listed()).toEqual(["alive"]);
    await store.lists.flush();
    expect(await entries()).toEqual(["begins", "alive"]);
    await append(store, "begins");
    expect(await listed()).toEqual(["begins", "alive"]);
  });

  it("and keeps the entry of a write that is under way while a page finds no session", async () => {
    const finish = await beginWrite("s");
    expect(await listed()).toEqual([]);
    await store.lists.flush();
    await finish();
    expect(await listed()).toEqual(["s"]);
  });

  it("also where the reply of the write is lost", async () => {
    const lossy = another(async (send, args) => {
      const reply = await send();
      if (isOf(args, sessionKeys(keyPrefix, "s").state)) {
        throw new Error("Connection is closed.");
      }
      return reply;
    });
    await expect(append(lossy, "s")).rejects.toThrow();
    expect(await listed()).toEqual(["s"]);
  });

  it("again, where the entry was refused and the write stored", async () => {
    let isRefused = true;
    const refused = another(async (send, args) => {
      if (isRefused && isOf(args, list)) {
        throw new Error("NOPERM this user has no permissions");
      }
      return send();
    });
    await append(refused, "s");
    await refused.lists.flush();
    expect(await listed()).toEqual([]);
    isRefused = false;
    // Two seconds later by itself.
    await until("it is listed", async () => (await listed()).includes("s"));
    expect(await listed()).toEqual(["s"]);
  });

  it("and moves none back by an entry that arrives late", async () => {
    let isHeld = false;
    let letGo!: () => void;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    const slow = another(async (send, args) => {
      await (isHeld && isOf(args, list) && held);
      return send();
    });
    await append(slow, "a");
    isHeld = true;
    await append(slow, "a");
    await append(store, "b");
    await append(store, "a");
    letGo();
    await slow.lists.flush();
    expect(await listed()).toEqual(["a", "b"]);
  });

  it("in the order of writes, by the server's clock, whatever the process's own clock says", async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `s${index}`);
    const clock = jest.spyOn(Date, "now").mockReturnValue(5_000);
    try {
      for (const id of [...ids, ...[...ids].reverse()]) {
        await append(store, id);
      }
    } finally {
      clock.mockRestore();
    }
    expect(await listed()).toEqual(ids);
    const newest = Number(await client.zscore(list, "s0"));
    expect(Math.abs(newest - (await secondsAgo(0)))).toBeLessThan(60_000_000);
  });
});

describe("a write that is refused leaves no entry behind", () => {
  const copyRecord = (text: string) => ({ record: text, identity: undefined });

  it("for a copy whose id is taken, and keeps the session that has it", async () => {
    await append(store, "source");
    await append(store, "taken");
    await store.append({ id: "nobody's" }, { records: records("n", 1) });
    for (const id of ["taken", "nobody's"]) {
      await expect(forkOf(store, { id: "source" }, { id }, { copyRecord })).rejects.toMatchObject({ code: "exists" });
    }
    await store.lists.flush();
    expect((await entries()).sort()).toEqual(["source", "taken"]);
  });

  const withoutWrite: [name: string, write: (by: RedisSessionStore) => Promise<unknown>][] = [
    ["has nothing to write", (by) => by.append({ id: "s", owner }, { records: [] })],
    ["copies a session that does not exist", (by) => forkOf(by, { id: "source" }, { id: "s", owner }, { copyRecord })],
  ];
  it.each(withoutWrite)("and one that %s takes back no entry of a write that is under way", async (_, write) => {
    const finish = await beginWrite("s");
    await write(store).catch(() => undefined);
    await store.lists.flush();
    await finish();
    expect(await listed()).toEqual(["s"]);
  });

  it("and takes back no entry that another write has made since", async () => {
    await append(store, "s");
    const stale = Number(await client.zscore(list, "s"));
    await client.unlink(...Object.values(sessionKeys(keyPrefix, "s")));
    let isRead = false;
    const reader = another(async (send, args) => {
      if (args.includes("60000")) {
        isRead = true;
        await append(store, "s");
      }
      return send();
    });
    await client.zadd(list, await secondsAgo(70), "s");
    expect((await reader.lists.list(owner, { limit: 5 })).sessions).toEqual([]);
    await reader.lists.flush();
    expect(isRead).toBe(true);
    expect(await listed()).toEqual(["s"]);
    expect(Number(await client.zscore(list, "s"))).toBeGreaterThan(stale);
  });
});

describe("a session whose owner changes", () => {
  it.each(["bob", undefined])(
    "is in the list of its owner alone, also where a process knows the old one: %s",
    async (to) => {
      await append(store, "s");
      const other = another();
      await other.clear({ id: "s" });
      await (to && other.append({ id: "s", owner: to }, { records: records("b", 1) }));
      await store.append({ id: "s" }, { records: [human("c")] });
      await store.lists.flush();
      expect([await entries("ann"), await listed("bob")]).toEqual([[], to ? ["s"] : []]);
    },
  );

  it("enters the list of the owner that an operator names for it", async () => {
    const stored = record("a");
    await store.append({ id: "s" }, { records: [stored] });
    const { ids, state } = sessionKeys(keyPrefix, "s");
    await client.unlink(ids, state);
    await store.edits.rebuild({ id: "s", owner }, () => stored, { assigns: true });
    expect(await listed()).toEqual(["s"]);
  });
});

describe("a session that ends", () => {
  it("by clear() is shown no more, and counts until a page is read a minute later", async () => {
    await append(store, "s");
    await append(store, "t");
    await store.clear({ id: "s" });
    expect(await listed()).toEqual(["t"]);
    await store.lists.flush();
    expect(await store.lists.count(owner)).toBe(2);
    await client.zadd(list, await secondsAgo(70), "s");
    expect(await listed()).toEqual(["t"]);
    await store.lists.flush();
    expect(await store.lists.count(owner)).toBe(1);
  });

  it("by its expiry leaves no list behind that ends much later", async () => {
    await append(store, "s", 2_000);
    const left = await client.pttl(list);
    expect(left).toBeGreaterThan(2_000);
    expect(left).toBeLessThanOrEqual(2_400);
    await append(store, "s", 60_000);
    expect(await client.pttl(list)).toBeGreaterThan(60_000);
    await append(store, "t", 2_000);
    expect(await client.pttl(list)).toBeGreaterThan(60_000);
  });

  it("leaves the list where another one stays for ever", async () => {
    await append(store, "mortal", 60_000);
    await append(store, "immortal");
    expect(await client.pttl(list)).toBe(-1);
    await append(store, "mortal", 600_000);
    await append(another(), "mortal", 600_000);
    expect(await client.pttl(list)).toBe(-1);
    await client.unlink(list);
    await append(another(), "mortal", 60_000);
    expect(await client.pttl(list)).toBeGreaterThan(0);
    const writer = another();
    await append(writer, "mortal", 60_000);
    await append(writer, "mortal");
    expect(await client.pttl(list)).toBe(-1);
  });

  it("leaves the list of one that stays for ever, whose write with an expiry is refused", async () => {
    await store.append({ id: "s", owner }, { records: [record("a")] });
    const mortal = { records: [{ ...record("a"), digest: "other" }], ttlMs: 60_000, onConflict: "error" } as const;
    await expect(another().append({ id: "s", owner }, mortal)).rejects.toMatchObject({ code: "content" });
    expect(await client.pttl(list)).toBe(-1);
  });

  it("that stays for ever keeps the list also where that was made anew by another process", async () => {
    await append(store, "s");
    await client.unlink(list);
    await append(another(), "t", 60_000);
    expect(await client.pttl(list)).toBeGreaterThan(0);
    await append(store, "s");
    await store.lists.flush();
    expect(await client.pttl(list)).toBe(-1);
  });

  it("does not fill a list that nobody reads", async () => {
    await append(store, "alive", 600_000);
    const dead = Array.from({ length: 300 }, (_, index) => `dead${index}`);
    await client.zadd(list, ...(await Promise.all(dead.map(async (id) => [await secondsAgo(90), id]))).flat());
    for (let index = 0; index < 150; index += 1) {
      await append(store, `new${index}`, 600_000);
      await store.lists.flush();
    }
    // Of each three that are looked at, those that ended go.
    expect((await entries()).filter((id) => id.startsWith("dead")).length).toBeLessThan(100);
    expect((await entries()).filter((id) => !id.startsWith("dead"))).toHaveLength(151);
  });
});

describe("the erasure of an owner beside writers that keep beginning sessions", () => {
  it("leaves no session unlisted, and none at all when it is repeated behind them", async () => {
    let isOver = false;
    const writers = ["x", "y"].map(async (name) => {
      const own = another();
      for (let index = 0; !isOver; index += 1) {
        for (const id of [`${name}${index}`, `${name}${index % 10}`]) {
          await append(own, id).catch((error: { code?: string }) => expect(error.code).toBe("erased"));
        }
      }
      await own.lists.flush();
    });
    const erase = () => store.lists.eraseOwners({ owners: [owner], unlisted: true, guardMs });
    for (const ms of [100, 50]) {
      await pause(ms);
      await erase();
    }
    await pause(20);
    isOver = true;
    await Promise.all(writers);
    const found = () => all(store.lists.scan({ owner }));
    const left = await found();
    expect(left.length).toBeGreaterThan(0);
    expect((await listed()).sort()).toEqual(left.sort());
    expect(await erase()).toBe(left.length);
    expect([await entries(), await listed(), await found()]).toEqual([[], [], []]);
  }, 60_000);

  it("finds one that begins behind the scan of all keys", async () => {
    await append(store, "old");
    let begun = 0;
    const eraser = another(async (send, args) => {
      const reply = await send();
      if (args.includes("MATCH") && Array.isArray(reply) && reply[0] === "0") {
        begun += 1;
        await append(store, "new");
      }
      return reply;
    });
    expect(await eraser.lists.eraseOwners({ owners: [owner], unlisted: true, guardMs })).toBe(2);
    expect(begun).toBe(1);
    await expect(append(store, "new")).rejects.toMatchObject({ code: "erased" });
    expect((await store.readView({ id: "new" })).epoch).toBe("");
  });
});

it("a list that was lost is made anew, with each session at its place by time", async () => {
  for (const id of ["first", "second", "third", "first"]) {
    await append(store, id);
    await store.lists.flush();
    // Sessions of one millisecond have no order by time.
    await pause(2);
  }
  const before = await listed();
  await client.unlink(list);
  expect(await listed()).toEqual([]);
  await store.lists.reindex();
  expect(await listed()).toEqual(before);
});

it("a walk meets each entry once and in order, however many have one score, and whatever their names", async () => {
  const entryArbitrary = fc.uniqueArray(
    fc.record({ score: fc.nat(3), member: fc.oneof(fc.stringMatching(/^[a-d]{1,2}$/), fc.constantFrom("%zz", "%41")) }),
    { minLength: 1, maxLength: 20, selector: ({ member }) => member },
  );
  const lists = new OwnerLists(wireOf(store)!.runner, keyPrefix);
  const walk = async (all: readonly { score: number; member: string }[], limit: number) => {
    await client.unlink(list);
    await client.zadd(list, ...all.flatMap(({ score, member }) => [score, member]));
    const met: string[] = [];
    let before: ListPlace | undefined;
    do {
      const page = await lists.page(owner, { limit, before });
      met.push(...page.entries.map(({ member }) => member));
      expect(page.entries.length).toBeLessThanOrEqual(limit);
      before = page.next;
    } while (before !== undefined);
    expect(met).toEqual(await client.zrange(list, "+inf", "-inf", "BYSCORE", "REV"));
  };
  const property = fc.asyncProperty(entryArbitrary, fc.integer({ min: 1, max: 7 }), walk);
  await fc.assert(property, { numRuns: propertyRuns(100) });
});
