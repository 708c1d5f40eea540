import { Command, interrupt, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import { all } from "../support/all.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();
const closed = closedAfterEach();
const ownerNamespaces = (owner: string) => [["users", owner], [`notes-${owner}`]];

/** A memory under a prefix of its own, long-term memory beside it, and a graph whose question waits in its thread. */
function place(encryption?: EncryptionOptions, settings: object = { ownerNamespaces }, threadTTL?: number) {
  const keyPrefix = uniquePrefix();
  const options = { client, redis: { keyPrefix }, ...settings, ...(encryption && { encryption }) };
  const memory = closed(new RedisChatMemory(options));
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("a", () => ({ messages: [{ role: "ai", content: `answer ${interrupt("ask")}` }] }))
    .addEdge(START, "a")
    .compile({ checkpointer: new RedisSaver({ memory, ...(threadTTL && { threadTTL }) }) });
  const ask = (thread_id: string, owner?: string) =>
    graph.invoke(
      { messages: [{ role: "human", content: `question of ${thread_id} `.repeat(30) }] },
      { configurable: { thread_id, ...(owner && { owner }) } },
    );
  const stored = async () => [...(await storedBytes(client, keyPrefix)).entries()].join();
  return { keyPrefix, memory, store: new RedisStore({ memory }), graph, ask, stored };
}
type Place = ReturnType<typeof place>;

interface Line {
  readonly type: string;
  readonly threadId: string;
  readonly namespace: string[];
  readonly key: string;
}
const parsed = (lines: readonly string[]) => lines.map((line) => JSON.parse(line) as Line);
const linesOf = ({ memory }: Place, problems?: SessionProblem[]) =>
  all(
    memory.sessions.exportOwner(
      "ann",
      problems === undefined ? {} : { onProblem: (problem: SessionProblem) => problems.push(problem) },
    ),
  );

/** Threads of Ann's by each way in which one is theirs, and of others. */
async function writeThreads({ memory, ask }: Place) {
  await memory.history("session", { owner: "ann" }).addMessages([human("hi")]);
  await ask("session");
  await ask("alone", "ann");
  await ask("another", "ann");
  await ask("one-more", "ann");
  await memory.history("of-bob", { owner: "bob" }).addMessages([human("hi")]);
  await ask("of-bob");
  await ask("bobs", "bob");
  await ask("nobodys");
  await memory.drain();
}
const annsThreads = ["alone", "another", "one-more", "session"];

/** Items of Ann's in each of her namespaces and below them, and of others, with names that begin like hers. */
async function writeItems({ memory, store }: Place) {
  await memory.history("s", { owner: "ann" }).addMessages([human("hi")]);
  await store.put(["users", "ann"], "language", { said: "zebra", since: 2026 });
  await store.put(["users", "ann", "trips"], "oslo", { said: "zebra", list: [1, { __proto__: null }] });
  await store.put(["notes-ann"], "", { said: "zebra" }, undefined, { itemTTL: { seconds: 600, refreshOnRead: true } });
  await store.put(["users", "ann-marie"], "k", { said: "stays" });
  await store.put(["users"], "ann", { said: "stays" });
  await store.put(["notes-ann2"], "k", { said: "stays" });
  await memory.drain();
}
const annsItems = [
  ["notes-ann", ""],
  ["users", "ann", "language"],
  ["users", "ann", "trips", "oslo"],
];

const forms: readonly [string, EncryptionOptions | undefined, EncryptionOptions | undefined][] = [
  ["plain", undefined, undefined],
  ["encrypted", testKeys("k1"), testKeys("k2")],
];

describe.each(forms)("an export of an owner, %s", (_, before, after) => {
  it("holds the threads that the erasure removes, and its import reads and goes on as the original did", async () => {
    const [from, to] = [place(before), place(after)];
    await writeThreads(from);
    const lines = await linesOf(from);
    const threads = parsed(lines).flatMap(({ type, threadId }) => (type === "thread" ? threadId : []));
    expect(threads.sort()).toEqual(annsThreads);
    await from.memory.sessions.deleteOwner("ann", { unlisted: true });
    const left = await from.stored();
    annsThreads.forEach((id) => expect(left).not.toContain(`question of ${id} `));
    expect(await linesOf(from)).toEqual([]);

    const done = await to.memory.sessions.import(lines);
    expect(done).toMatchObject({ sessions: 1, threads: 4, failed: 0 });
    expect((await to.stored()).includes("question of")).toBe(after === undefined);
    for (const thread_id of annsThreads) {
      const config = { configurable: { thread_id } };
      expect((await to.graph.getState(config)).tasks[0]?.interrupts[0]?.value).toBe("ask");
      const { messages } = await to.graph.invoke(new Command({ resume: "yes" }), config);
      expect(messages.at(-1)?.text).toBe("answer yes");
    }
    expect(await to.memory.sessions.deleteOwner("ann", { unlisted: true })).toMatchObject({ sessions: 4 });
  });

  it("holds the items that the erasure removes, and its import has them as they were", async () => {
    const [from, to] = [place(before), place(after)];
    await writeItems(from);
    const lines = await linesOf(from);
    const items = parsed(lines).filter(({ type }) => type === "item");
    expect(items.map(({ namespace, key }) => [...namespace, key]).sort()).toEqual(annsItems);
    const there = await Promise.all(annsItems.map((path) => from.store.get(path.slice(0, -1), path.at(-1)!)));
    expect(await from.memory.sessions.deleteOwner("ann")).toEqual({ sessions: 1, items: 3 });
    expect(await from.memory.sessions.deleteOwner("ann")).toEqual({ sessions: 0, items: 0 });
    expect(await linesOf(from)).toEqual([]);
    const left = (await from.store.search([])).map(({ namespace, key }) => [...namespace, key].join("/"));
    expect(left.sort()).toEqual(["notes-ann2/k", "users/ann", "users/ann-marie/k"]);
    expect((await from.stored()).includes("zebra")).toBe(false);

    expect(await to.memory.sessions.import(lines)).toMatchObject({ sessions: 1, items: 3, failed: 0 });
    expect((await to.stored()).includes("zebra")).toBe(after === undefined);
    expect(await Promise.all(annsItems.map((path) => to.store.get(path.slice(0, -1), path.at(-1)!)))).toEqual(there);
  });

  it("is imported once: again it changes nothing, and other content is refused", async () => {
    const [from, to] = [place(before), place(after)];
    await from.ask("alone", "ann");
    await from.store.put(["users", "ann"], "k", { a: 1 });
    const lines = await linesOf(from);
    const { sessions } = to.memory;
    expect(await sessions.import(lines)).toMatchObject({ threads: 1, items: 1 });
    expect(await sessions.import(lines)).toMatchObject({ threads: 0, items: 0, unchanged: 2 });
    await to.store.put(["users", "ann"], "k", { a: 2 });
    await to.graph.invoke(new Command({ resume: "yes" }), { configurable: { thread_id: "alone" } });
    const [thread, item] = ["thread", "item"].map((type) => lines.filter((line) => line.includes(`"type":"${type}"`)));
    await expect(sessions.import(item!)).rejects.toMatchObject({ code: "exists" });
    await expect(sessions.import(thread!)).rejects.toMatchObject({ code: "exists", sessionId: "alone" });
    await sessions.delete("alone");
    await expect(sessions.import(thread!)).rejects.toMatchObject({ code: "erased" });
  });
});

const writeOne = {
  thread: ({ ask }: Place, _?: number) => ask("alone", "ann"),
  item: ({ store }: Place, itemTTL?: number) =>
    store.put(["users", "ann"], "k", { a: 1 }, undefined, itemTTL === undefined ? {} : { itemTTL }),
};
const kinds = ["thread", "item"] as const;

describe("an export of an owner", () => {
  it.each(kinds)("keeps the expiry of a %s, and leaves out one that has expired since", async (kind) => {
    const [from, to, late] = [place(undefined, undefined, 1_000), place(), place()];
    await writeOne[kind](from, 1_000);
    const [line = ""] = await linesOf(from);
    await to.memory.sessions.import([line]);
    const left = await client.pttl(`${to.keyPrefix}:${kind === "thread" ? "{alone}:items" : "{store:items}:values"}`);
    expect([left > 900_000, left <= 1_000_000]).toEqual([true, true]);
    const past = line.replace(/"expiresAt":\d+/, `"expiresAt":${Date.now() - 1}`);
    expect(await late.memory.sessions.import([past])).toMatchObject({ [`${kind}s`]: 0, expired: 1 });
    expect(await late.memory.sessions.import([past], { sessionTTL: 10 })).toMatchObject({ [`${kind}s`]: 1 });
  });

  it("names sessions and threads that cannot be read, and exports the others", async () => {
    const from = place();
    await writeThreads(from);
    for (const lost of ["log", "state"]) {
      await client.unlink(`${from.keyPrefix}:{session}:${lost}`);
    }
    await client.unlink(`${from.keyPrefix}:{another}:items`);
    const problems: SessionProblem[] = [];
    const lines = await linesOf(from, problems);
    expect(
      parsed(lines)
        .map(({ threadId }) => threadId)
        .sort(),
    ).toEqual(["alone", "one-more", "session"]);
    expect(problems.map(({ sessionId, kind, error }) => [sessionId, kind, error.code])).toEqual([
      ["session", undefined, "damaged"],
      ["another", "thread", "damaged"],
    ]);
    await expect(linesOf(from)).rejects.toMatchObject({ code: "damaged", sessionId: "session" });
  });

  it("names items that cannot be read, and exports the others", async () => {
    const at = place();
    await writeItems(at);
    const values = `${at.keyPrefix}:{store:items}:values`;
    await client.hset(values, "users\0ann\0\0language", "no record");
    const problems: SessionProblem[] = [];
    expect(parsed(await linesOf(at, problems)).filter(({ type }) => type === "item")).toHaveLength(2);
    expect(problems.map(({ sessionId, kind, error }) => [sessionId, kind, error.code])).toEqual([
      ["", "item", "corrupt"],
    ]);
    await client.unlink(values);
    await expect(linesOf(at)).rejects.toMatchObject({ code: "damaged" });
    await expect(at.memory.sessions.deleteOwner("ann")).rejects.toMatchObject({ code: "damaged" });
  });

  it.each<[(typeof kinds)[number], string, (line: string) => string]>([
    ["thread", "no token", (line) => line.replace('"token"', '"taken"')],
    ["thread", "a missing item", (line) => line.replace('"items":["",', '"items":[')],
    ["thread", "items that are no texts", (line) => line.replace('"items":["",', '"items":[1,')],
    ["thread", "a tombstone", (line) => line.replace('"fields":{', '"fields":{"erased":"1",')],
    ["thread", "encrypted text", (line) => line.replace(/("items":\["",)"/, '$1"~k1 ')],
    ["thread", "no id", (line) => line.replace('"threadId":"alone"', '"threadId":""')],
    ["item", "a namespace that is no list", (line) => line.replace('["users","ann"]', '"users"')],
    ["item", "an empty namespace", (line) => line.replace('["users","ann"]', "[]")],
    ["item", "a label that is none", (line) => line.replace('["users","ann"]', '["users","a.b"]')],
    ["item", "no value", (line) => line.replace(/"value":.*\}\}/, '"value":1}')],
    ["item", "no time", (line) => line.replace(/"createdAt":\d+,/, "")],
  ])("is refused with a %s with %s, and nothing is written", async (kind, _, change) => {
    const [from, to] = [place(), place()];
    await writeOne[kind](from);
    const [line = ""] = await linesOf(from);
    expect(change(line)).not.toBe(line);
    await expect(to.memory.sessions.import([change(line)])).rejects.toMatchObject({ code: "corrupt" });
    expect(await to.stored()).toBe("");
    const problems: unknown[] = [];
    const onProblem = (problem: unknown) => problems.push(problem);
    const lines = [change(line), line.replaceAll("alone", "other")];
    expect(await to.memory.sessions.import(lines, { onProblem })).toMatchObject({ [`${kind}s`]: 1 });
    expect(problems).toHaveLength(1);
  });
});

describe("the items of an owner", () => {
  it("are not asked where nobody says which they are", async () => {
    const at = place(undefined, {});
    await writeItems(at);
    expect(parsed(await linesOf(at)).map(({ type }) => type)).not.toContain("item");
    expect(await at.memory.sessions.deleteOwner("ann")).toEqual({ sessions: 1, items: "not asked" });
    expect(await at.store.search(["users", "ann"])).toHaveLength(2);
  });

  it.each([
    ["everybody's", () => [[]]],
    ["no list", () => "users"],
    ["a namespace that is none", () => [["users", "a.b"]]],
    ["an empty label", () => [["users", ""]]],
    ["names in place of namespaces", () => ["users"]],
  ])("are refused as %s, before anything is removed", async (_, given) => {
    const at = place(undefined, { ownerNamespaces: given });
    await writeItems(at);
    const before = await at.stored();
    const refused = { name: "ConfigurationError", option: "ownerNamespaces" };
    await expect(at.memory.sessions.deleteOwner("ann")).rejects.toMatchObject(refused);
    expect(() => at.memory.sessions.exportOwner("ann")).toThrow(expect.objectContaining(refused));
    expect(await at.stored()).toBe(before);
  });

  it("are gone from Redis at the first call behind their expiry", async () => {
    const at = place();
    await at.store.put(["users", "bob"], "stays", { a: 1 });
    for (const read of [
      () => at.store.get(["users", "bob"], "stays"),
      () => at.store.search(["users", "bob"]),
      () => at.store.listNamespaces(),
    ]) {
      await at.store.put(["users", "ann"], "k", { said: "zebra" }, undefined, { itemTTL: 1 });
      await new Promise((resolve) => setTimeout(resolve, 1_050));
      expect(await at.stored()).toContain("zebra");
      await read();
      expect(await at.stored()).not.toContain("zebra");
    }
  });
});
