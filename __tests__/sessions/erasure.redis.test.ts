import { RedisChatMemory, RedisSessionStore } from "langchain-redis-memory";
import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Cluster, Redis } from "ioredis";
import { expectTombstone } from "../support/tombstones.js";
import { human } from "../support/messages.js";
import { interceptedClient } from "../../tools/testkit/proxies/intercepted-client.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { ownServer } from "../support/own-server.js";
import { forkOf, records } from "../../testing/session-store/store-case.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { beginMove } from "../../tools/testkit/servers/redis-cluster.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { doors, secret } from "../support/doors.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";
import { ownCluster } from "../support/own-cluster.js";

/** Sessions to erase; the full number of the promise takes longer. */
const count = Number(process.env["ERASED_SESSIONS"] ?? 300);
const guardMs = 120_000;

describe("the scan of all keys for unlisted sessions", () => {
  const client = sharedClient();

  it("is made only where the call asks for it, and then once for several owners", async () => {
    let scans = 0;
    const counting = interceptedClient(client, (send, args) => {
      scans += args[0] === "0" && args[1] === "MATCH" ? 1 : 0;
      return send();
    });
    const memory = new RedisChatMemory({ client: counting, redis: { keyPrefix: uniquePrefix() } });
    const owners = ["ann", "bob", "eve"];
    for (const owner of owners) {
      await memory.history(owner, { owner }).addMessages([human("q")]);
      await memory.history(`${owner} 2`, { owner }).addMessages([human("q")]);
    }
    await memory.drain();
    const erased = { sessions: 2, items: "not asked" };
    expect(await memory.sessions.deleteOwner("ann")).toEqual(erased);
    expect(scans).toBe(0);
    expect(await memory.sessions.deleteOwner(["bob", "eve"], { unlisted: true })).toEqual({ ...erased, sessions: 4 });
    expect(scans).toBe(1);
    expect(await memory.sessions.count({ owner: "eve" })).toBe(0);
    await memory.close();
  });
});

describe("erasing an owner", () => {
  const own = ownServer(startRedis);

  it("leaves no key after its guard, beside writers, after a crash, and with sessions that the list lost", async () => {
    const { client } = own;
    const keyPrefix = uniquePrefix();
    const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
    const id = (index: number) => `session ${index}`;
    for (let first = 0; first < count; first += 200) {
      const part = Array.from({ length: Math.min(200, count - first) }, (_, index) => first + index);
      await Promise.all(part.map((index) => memory.history(id(index), { owner: "ann" }).addMessages([human("q")])));
    }
    await memory.drain();
    expect(await memory.sessions.count({ owner: "ann" })).toBe(count);
    for (let index = 0; index < 50; index += 1) {
      await client.zrem(`${keyPrefix}:{owner:ann}:sessions`, encodeURIComponent(id(index)));
    }
    let isOver = false;
    let refused = 0;
    const writers = Array.from({ length: 8 }, async (_, writer) => {
      const other = new RedisChatMemory({ client, redis: { keyPrefix } });
      // The guard stands on when the erasure is over: a writer that was not refused yet is then.
      for (let turn = 0; !isOver || refused === 0; turn += 1) {
        const session = id((turn * 8 + writer) % count);
        const identity = turn % 2 === 0 ? { owner: "ann" } : {};
        await other
          .history(session, identity)
          .addMessages([human("late")])
          .catch((error: { code?: string }) => {
            expect(error.code).toBe("erased");
            refused += 1;
          });
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      await other.drain();
    });
    const crash = new Error("The process ended.");
    const erasure = memory.sessions.deleteOwner("ann", {
      unlisted: true,
      guardMs,
      onProgress: ({ sessions }) => {
        if (sessions >= count / 3) {
          throw crash;
        }
      },
    });
    await expect(erasure).rejects.toBe(crash);
    const began = Date.now();
    await memory.sessions.deleteOwner("ann", { unlisted: true, guardMs });
    const took = Date.now() - began;
    isOver = true;
    await Promise.all(writers);
    await memory.drain();
    expect(refused).toBeGreaterThan(0);
    expect(await memory.sessions.list({ owner: "ann" })).toEqual({ sessions: [], next: null });
    // The guards of sessions and the mark of the owner, without content; each expires.
    for (const key of await client.keys("*")) {
      await expectTombstone(client, key, { guardMs });
    }
    if (count > 300) {
      process.stdout.write(`${count} sessions, resumed: ${took} ms, ${refused} writes refused\n`);
    }
  });

  it("is done on a server at its maxmemory", async () => {
    await own.client.flushall();
    const memory = new RedisChatMemory({ client: own.client });
    for (const id of ["a", "b"]) {
      await memory.history(id, { owner: "ann" }).addMessages([human("hi")]);
    }
    await memory.drain();
    await own.client.config("SET", "maxmemory", "1");
    const write = memory.history("c", { owner: "ann" }).addMessages([human("hi")]);
    await expect(write).rejects.toMatchObject({ code: "out_of_memory" });
    expect(await memory.sessions.deleteOwner("ann")).toMatchObject({ sessions: 2 });
    await memory.close();
  });
});

const copyGuardMs = 60_000;
const sourceRecords = records("a", 1_200);

describe("a copy whose source is erased before it is complete", () => {
  const client = sharedClient();
  let store: RedisSessionStore;
  let keyPrefix: string;
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    store = new RedisSessionStore({ client, keyPrefix });
    await store.append({ id: "source", owner: "ann" }, { records: sourceRecords });
  });
  afterEach(() => store.close());

  const staged = () => client.keys(`${keyPrefix}:*:staged:*`);

  it("leaves nothing of itself, and does not become a session", async () => {
    let erasing: Promise<unknown> | undefined;
    const copyRecord = (text: string, position: number) => {
      if (position === 100) {
        erasing ??= store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs: copyGuardMs });
      }
      return { record: text, identity: sourceRecords[position] };
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
    const identified = sourceRecords.map(({ record: text, id, digest }) => ({
      record: text,
      identity: { id, digest },
    }));
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
    expect(await store.lists.eraseOwners({ owners: ["bob"], unlisted: true, guardMs: copyGuardMs })).toBe(0);
    expect(await staged()).toHaveLength(3);
    expect(await store.lists.eraseOwners({ owners: ["ann"], unlisted: true, guardMs: copyGuardMs })).toBe(1);
    expect(await staged()).toEqual([]);
  });
});

const closed = closedAfterEach();

/** Doors that write beside the session. */
const besideDoors: typeof doors = {
  "a graph": async (memory) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", () => ({ messages: [{ role: "ai", content: `${secret} answer` }] }))
      .addEdge(START, "a")
      .compile({ checkpointer: new RedisSaver({ memory }) });
    const question = { messages: [new HumanMessage(`${secret} question `.repeat(20))] };
    await graph.invoke(question, { configurable: { thread_id: "s" } });
  },
  "a run": async (memory, turnId) => {
    const runs = redisRuns(memory);
    const run = await runs.start("s", { turnId, owner: "ann" }, async function* () {
      await runs.steer("s", { role: "user", content: `${secret} more`, id: `${turnId}-m` });
      yield `${secret} chunk`;
    });
    for await (const _ of run);
  },
};
const allDoors = Object.entries({ ...doors, ...besideDoors });

const erasures = {
  delete: (memory: RedisChatMemory) => memory.sessions.delete("s", { owner: "ann" }),
  deleteOwner: (memory: RedisChatMemory) => memory.sessions.deleteOwner("ann"),
  clear: (memory: RedisChatMemory) => memory.history("s", { owner: "ann" }).clear(),
  "clear in a turn": (memory: RedisChatMemory) => memory.withTurn("s", (history) => history.clear(), { owner: "ann" }),
};
const forms = Object.keys(erasures).flatMap((name) =>
  [false, true].map((isEncrypted) => [name as keyof typeof erasures, isEncrypted] as const),
);

async function begin(client: Redis | Cluster, isEncrypted: boolean) {
  const keyPrefix = uniquePrefix();
  const encryption = isEncrypted ? { encryption: testKeys("k1") } : {};
  const redis = { keyPrefix, commandTimeout: 40_000 };
  const memory = closed(new RedisChatMemory({ client, redis, ...encryption }));
  await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage(secret)]);
  return { keyPrefix, memory };
}

/** Nothing that was said is left in any key or value, and of the session at most tombstones. */
async function expectGone(nodes: readonly Redis[], keyPrefix: string, name: keyof typeof erasures): Promise<void> {
  const marks = [secret, Buffer.from(secret).toString("base64").slice(0, 7)];
  for (const node of nodes) {
    const stored = await storedBytes(node, keyPrefix);
    const text = [...stored].flat().join("\n");
    marks.forEach((mark) => expect(text).not.toContain(mark));
    for (const key of [...stored.keys()].filter((name) => name.includes("{s}"))) {
      expect([key, name]).not.toEqual([key, "clear in a turn"]);
      await expectTombstone(node, key, { isCleared: name === "clear" });
    }
  }
}

describe.each(forms)("behind %s (encrypted: %s)", (name, isEncrypted) => {
  const client = sharedClient();

  it.each(allDoors)("nothing is left of what %s stored", async (_, door) => {
    const { keyPrefix, memory } = await begin(client, isEncrypted);
    await door(memory, "t");
    await memory.drain();
    await erasures[name](memory);
    await memory.drain();
    await expectGone([client], keyPrefix, name);
  });
});

describe("in a Cluster whose slot is being moved", () => {
  const own = ownCluster(2);

  it.each(forms)("nothing is left behind %s (encrypted: %s) of what all doors stored", async (name, isEncrypted) => {
    const { cluster, client } = own;
    const { keyPrefix, memory } = await begin(client, isEncrypted);
    for (const [door, write] of allDoors) {
      await write(memory, `t-${door.replace(/\W/g, "")}`);
    }
    await memory.drain();
    const { finish } = await beginMove(cluster, `${keyPrefix}:{s}:state`);
    await erasures[name](memory);
    await memory.drain();
    await finish();
    await expectGone(client.nodes("master"), keyPrefix, name);
    // A node gives no slot away while it holds keys of it.
    await Promise.all(
      client.nodes("master").map(async (node) => {
        const keys = await node.keys(`${keyPrefix}:{s}*`);
        await Promise.all(keys.map((key) => client.unlink(key)));
      }),
    );
  });
});
