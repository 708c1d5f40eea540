import { HumanMessage } from "@langchain/core/messages";
import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { plainTexts } from "../../src/store/redis/whole-thread.js";
import { RedisSessionStore, wireOf } from "../../src/store/redis-store/redis-session-store.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import { startContractServer } from "../contract/contract-server.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { ownServer } from "../support/own-server.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKey, testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

const client = sharedClient();
const closed = closedAfterEach();
const own = ownServer(startContractServer);
const everythingIn = async (prefix: string) => [...(await storedBytes(client, prefix)).entries()].join();
const textsIn = (bytes: string) => [...new Set(bytes.match(/~[\w-]{8} [\w-]+/g))].sort();
const thread = (id: string) => ({ configurable: { thread_id: id } });

/** Every door of one process with these keys. */
function doorsWith(keyPrefix: string, encryption?: EncryptionOptions) {
  const redis = { keyPrefix };
  return doorsOf(closed(new RedisChatMemory({ client, redis, ...(encryption && { encryption }) })));
}

function doorsOf(memory: RedisChatMemory) {
  const saver = new RedisSaver({ memory });
  const answer = () => ({ messages: [{ role: "ai", content: "secret answer" }] });
  const asking = () => ({ messages: [{ role: "ai", content: `secret ${interrupt("secret ask")}` }] });
  return {
    memory,
    saver,
    store: new RedisStore({ memory }),
    runs: redisRuns(memory),
    graph: new StateGraph(MessagesAnnotation).addNode("a", answer).addEdge(START, "a").compile({ checkpointer: saver }),
    asking: new StateGraph(MessagesAnnotation)
      .addNode("a", asking)
      .addEdge(START, "a")
      .compile({ checkpointer: saver }),
  };
}
type Doors = ReturnType<typeof doorsWith>;

const question = (text = "secret question") => ({ messages: [{ role: "human", content: text }] });

async function writeEach({ memory, store, graph, asking }: Doors) {
  await memory.history("s", { owner: "ann", title: "secret title" }).addMessages([new HumanMessage("secret message")]);
  await asking.invoke(question(), thread("s"));
  await graph.invoke(question("secret x".repeat(100)), thread("t"));
  await store.put(["u", "ann"], "k", { text: "secret item" });
  await memory.drain();
}

/** Everything of `writeEach` reads as it was written. */
async function expectWhole({ memory, store, graph, asking }: Doors) {
  expect(await memory.history("s").getMessages()).toHaveLength(1);
  expect((await asking.getState(thread("s"))).tasks[0]?.interrupts[0]?.value).toBe("secret ask");
  const states = await all(graph.getStateHistory(thread("t")));
  expect(states).toHaveLength(3);
  const resumed = await asking.invoke(new Command({ resume: "yes" }), thread("s"));
  expect(resumed.messages.map(({ text }) => text)).toEqual(["secret question", "secret yes"]);
  expect((await store.get(["u", "ann"], "k"))?.value).toEqual({ text: "secret item" });
  expect(await store.search(["u"])).toHaveLength(1);
}

describe("sessions.reencrypt() over every kind of data", () => {
  it("moves data of another key to the current key, which then reads it alone, and changes no text", async () => {
    const keyPrefix = uniquePrefix();
    await writeEach(doorsWith(keyPrefix, testKeys("k1")));
    const before = await everythingIn(keyPrefix);
    const rotating = doorsWith(keyPrefix, testKeys("k2", "k1"));
    const done = await rotating.memory.sessions.reencrypt();
    const all = { sessions: 1, threads: 2, items: 1, runs: 0, keys: 4, sealed: 0, incomplete: 0, failed: 0 };
    expect(done).toEqual(all);
    const stored = await everythingIn(keyPrefix);
    expect(before).toMatch(/ k1 /);
    expect(stored).not.toMatch(/secret| k1\b/);
    expect(textsIn(stored)).toEqual(textsIn(before));
    expect(await rotating.memory.sessions.reencrypt()).toEqual({ ...all, keys: 0 });
    expect(await everythingIn(keyPrefix)).toBe(stored);
    await expectWhole(doorsWith(keyPrefix, testKeys("k2")));
  });

  it("seals what is plain in its place", async () => {
    const keyPrefix = uniquePrefix();
    await writeEach(doorsWith(keyPrefix));
    const { memory } = doorsWith(keyPrefix, testKeys("k1"));
    const all = { sessions: 1, threads: 2, items: 1, runs: 0, keys: 0, incomplete: 0, failed: 0 };
    const { sealed, ...done } = await memory.sessions.reencrypt();
    expect([done, sealed]).toEqual([all, expect.any(Number)]);
    expect(sealed).toBeGreaterThan(8);
    const stored = await everythingIn(keyPrefix);
    expect(stored).not.toContain("secret");
    expect(await memory.sessions.reencrypt()).toEqual({ ...all, sealed: 0 });
    expect(await everythingIn(keyPrefix)).toBe(stored);
    await expectWhole(doorsWith(keyPrefix, testKeys("k1")));
  });

  it("seals what is plain beside writers that still write plain text, until those have the key", async () => {
    const keyPrefix = uniquePrefix();
    const [plain, current] = [doorsWith(keyPrefix), doorsWith(keyPrefix, testKeys("k1"))];
    await writeEach(plain);
    let isWriting = true;
    const write = async () => {
      for (let index = 0; index < 8; index += 1) {
        await plain.store.put(["others"], `more-${index}`, { text: `secret ${index}` });
        await plain.graph.invoke(question(), thread(`more-${index}`));
      }
    };
    const seal = async () => {
      while (isWriting) {
        expect(await current.memory.sessions.reencrypt()).toMatchObject({ failed: 0 });
      }
    };
    await Promise.all([write().finally(() => (isWriting = false)), seal()]);
    expect(await current.memory.sessions.reencrypt()).toMatchObject({ incomplete: 0, failed: 0 });
    expect(await everythingIn(keyPrefix)).not.toContain("secret");
    await expectWhole(current);
    expect(await current.store.search(["others"])).toHaveLength(8);
    for (let index = 0; index < 8; index += 1) {
      expect((await current.graph.getState(thread(`more-${index}`))).values).toHaveProperty("messages.length", 2);
    }
  });

  it("finds each plain text of a long thread by pages, also where items are dropped between them", async () => {
    const [keyPrefix, part] = [uniquePrefix(), (name: string) => `${keyPrefix}:{t}:${name}`];
    const name = (index: number) => `c\u0000${index}`;
    const scan = wireOf(closed(new RedisSessionStore({ client, keyPrefix })))!;
    const fields = Array.from({ length: 250 }, (_, index) => [
      name(index),
      `0,\nfield ${index}${".".repeat(64)}`,
    ]).flat();
    await client.hset(part("checkpoints"), "base", 7, ...fields);
    await client.rpush(part("items"), ...Array.from({ length: 250 }, (_, index) => `item ${index}`));
    const found = new Map<string, string>();
    let longest = 0;
    for await (const page of plainTexts(scan, "t", (text) => `sealed ${text}`)) {
      longest = Math.max(longest, page.texts.length);
      page.texts.forEach(([at, text, sealed]) => found.set(`${page.part} ${at}`, [text, sealed].join()));
      if (found.size === 100) {
        await client.ltrim(part("items"), 130, -1);
        await client.hset(part("checkpoints"), "base", 137);
      }
    }
    expect(longest).toBeLessThan(150);
    expect(found.size).toBe(100 + 120 + 250);
    expect(found.get("items 106")).toBe("item 99,sealed item 99");
    expect(found.get("items 256")).toBe("item 249,sealed item 249");
    expect(found.get(`checkpoints ${name(249)}`)).toMatch(/,sealed 0,\nfield 249/);
  });

  it("goes on after a process that died behind any of its calls", async () => {
    const keyPrefix = uniquePrefix();
    await writeEach(doorsWith(keyPrefix, testKeys("k1")));
    let [done, deaths]: [unknown, number] = [undefined, 0];
    // How many calls a pass makes depends on what other tests have left on the server, which its scan goes over.
    for (let calls = 1; done === undefined && calls < 10_000; calls += 1 + Math.floor(calls / 20)) {
      const dying = closed(client.duplicate({ retryStrategy: () => null }));
      const id = await dying.client("ID");
      let count = 0;
      const onEvent = ({ type }: MemoryEvent) => {
        count += type === "command" ? 1 : 0;
        if (count === calls) {
          void client.client("KILL", "ID", id);
        }
      };
      const redis = { keyPrefix };
      const memory = closed(new RedisChatMemory({ client: dying, redis, encryption: testKeys("k2", "k1"), onEvent }));
      done = await memory.sessions.reencrypt().catch(() => undefined);
      deaths += done === undefined ? 1 : 0;
    }
    expect(deaths).toBeGreaterThan(10);
    expect(done).toMatchObject({ threads: 2, items: 1, incomplete: 0, failed: 0 });
    await expectWhole(doorsWith(keyPrefix, testKeys("k2")));
  });

  it("counts runs with text of another key until they are gone", async () => {
    const keyPrefix = uniquePrefix();
    const { runs } = doorsWith(keyPrefix, testKeys("k1"));
    const run = await runs.start("r", { turnId: "t" }, async function* () {
      yield "secret chunk";
    });
    for await (const _ of run);
    const { memory, runs: after } = doorsWith(keyPrefix, testKeys("k2", "k1"));
    expect(await memory.sessions.reencrypt()).toMatchObject({ runs: 1, incomplete: 0 });
    await client.del(`${keyPrefix}:{r}:run`);
    for await (const _ of await after.start("r", { turnId: "u" }, async function* () {
      yield "secret chunk";
    }));
    expect(await memory.sessions.reencrypt()).toMatchObject({ runs: 0 });
  });

  it("names a thread or items that it cannot open, and seals the others", async () => {
    const keyPrefix = uniquePrefix();
    const [known, lost] = [doorsWith(keyPrefix, testKeys("k1")), doorsWith(keyPrefix, testKeys("lost"))];
    await writeEach(known);
    await lost.graph.invoke(question(), thread("lost"));
    await lost.store.put(["u", "bob"], "k", { text: "secret" });
    const problems: SessionProblem[] = [];
    const { memory } = doorsWith(keyPrefix, testKeys("k2", "k1"));
    const done = await memory.sessions.reencrypt({ onProblem: (problem) => problems.push(problem) });
    expect(done).toMatchObject({ threads: 2, failed: 2, incomplete: 0 });
    expect(problems.map(({ sessionId, kind, error }) => [sessionId, kind, error.code]).sort()).toEqual([
      ["", "item", "unknown_key"],
      ["lost", "thread", "unknown_key"],
    ]);
    const only = doorsWith(keyPrefix, testKeys("k2"));
    expect((await only.store.get(["u", "ann"], "k"))?.value).toEqual({ text: "secret item" });
    await expect(only.graph.getState(thread("lost"))).rejects.toMatchObject({ code: "unknown_key" });
  });

  it("reads a thread and items with one more round trip once a process, which adds no key then", async () => {
    const keyPrefix = uniquePrefix();
    await writeEach(doorsWith(keyPrefix, testKeys("k1")));
    const keysOf = async (hash: string) => (await client.hget(`${keyPrefix}:${hash}`, "keys"))!.trim().split("\n");
    for (let process = 0; process < 3; process += 1) {
      let trips = 0;
      const onEvent = ({ type }: MemoryEvent) => (trips += type === "command" ? 1 : 0);
      const redis = { keyPrefix };
      const memory = closed(new RedisChatMemory({ client, redis, encryption: testKeys("k1"), onEvent }));
      const [saver, store] = [new RedisSaver({ memory }), new RedisStore({ memory })];
      const tripsOf = async (call: () => Promise<unknown>) => {
        const before = trips;
        await call();
        return trips - before;
      };
      const calls = [
        () => saver.getTuple(thread("t")),
        () => saver.getTuple(thread("t")),
        () => store.get(["u", "ann"], "k"),
        () => store.put(["u", "ann"], "k", { text: "secret item" }),
        () => store.search(["u"]),
      ];
      const each: number[] = [];
      for (const call of calls) {
        each.push(await tripsOf(call));
      }
      expect(each).toEqual([2, 1, 2, 1, 1]);
      await doorsWith(keyPrefix, testKeys("k1")).store.put(["u", "ann"], "other", { text: "secret item" });
    }
    expect([await keysOf("{t}:checkpoints"), await keysOf("{store:items}:values")].map((keys) => keys.length)).toEqual([
      1, 1,
    ]);
  });

  it("refuses a text that was moved to another thread, with its key or without", async () => {
    const keyPrefix = uniquePrefix();
    const { saver, graph } = doorsWith(keyPrefix, testKeys("k1"));
    await graph.invoke(question(), thread("a"));
    const key = (id: string, part: string) => `${keyPrefix}:{${id}}:${part}`;
    for (const part of ["items", "checkpoints", "order"]) {
      await client.copy(key("a", part), key("b", part));
    }
    await expect(saver.getTuple(thread("b"))).rejects.toMatchObject({ code: "wrong_key" });
    await client.hdel(key("a", "checkpoints"), "keys");
    const { saver: cold } = doorsWith(keyPrefix, testKeys("k1"));
    await expect(cold.getTuple(thread("a"))).rejects.toMatchObject({ code: "unknown_key" });
  });

  it("leaves no plain text in any name, value, entry of a stream, or command that the slow log keeps", async () => {
    const { client } = own;
    await client.config("SET", "slowlog-log-slower-than", "0", "slowlog-max-len", "10000");
    const redis = { keyPrefix: "p" };
    const memory = closed(new RedisChatMemory({ client, redis, encryption: testKeys("k1") }));
    const doors = doorsOf(memory);
    await writeEach(doors);
    await doors.runs.steer("s", new HumanMessage("secret steer"));
    const run = await doors.runs.start("r", { turnId: "t" }, async function* () {
      expect(await doors.runs.saidTo("r")?.take()).toEqual([]);
      await doors.runs.steer("r", new HumanMessage("secret steer"));
      yield "secret chunk";
    });
    for await (const _ of run);
    await expectWhole(doors);
    expect(await client.exists("p:{r}:run:steers", "p:{r}:run")).toBe(2);
    const bytes = [...(await storedBytes(client, "p"))].flat().join("\n");
    const slow = JSON.stringify(await client.call("SLOWLOG", "GET", "-1"));
    expect(slow).toContain("p:{t}:checkpoints");
    for (const text of [bytes, slow]) {
      expect(text).not.toMatch(/secret/);
      expect(text).not.toContain(Buffer.from("secret").toString("base64"));
    }
  });

  it("refuses where the current key is null", async () => {
    const { memory } = doorsWith(uniquePrefix(), { current: null, previous: [testKey("k1")] });
    await expect(memory.sessions.reencrypt()).rejects.toMatchObject({ option: "encryption" });
  });
});
