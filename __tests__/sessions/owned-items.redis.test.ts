import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();
const closed = closedAfterEach();
const ownerNamespaces = (owner: string) => [["users", owner], [`notes-${owner}`]];

/** A memory under a prefix of its own, and long-term memory beside it. */
function place(encryption?: EncryptionOptions, settings: object = { ownerNamespaces }) {
  const keyPrefix = uniquePrefix();
  const options = { client, redis: { keyPrefix }, ...settings, ...(encryption && { encryption }) };
  const memory = closed(new RedisChatMemory(options));
  const store = new RedisStore({ memory });
  const stored = async () => [...(await storedBytes(client, keyPrefix)).entries()].join();
  return { keyPrefix, memory, store, stored };
}
type Place = ReturnType<typeof place>;

/** Items of Ann's in each of her namespaces and below them, and of others, with names that begin like hers. */
async function writeEach({ memory, store }: Place) {
  await memory.history("s", { owner: "ann" }).addMessages([human("hi")]);
  await store.put(["users", "ann"], "language", { said: "zebra", since: 2026 });
  await store.put(["users", "ann", "trips"], "oslo", { said: "zebra", list: [1, { __proto__: null }] });
  await store.put(["notes-ann"], "", { said: "zebra" }, undefined, { itemTTL: { seconds: 600, refreshOnRead: true } });
  await store.put(["users", "ann-marie"], "k", { said: "stays" });
  await store.put(["users"], "ann", { said: "stays" });
  await store.put(["notes-ann2"], "k", { said: "stays" });
  await memory.drain();
}
const anns = [
  ["notes-ann", ""],
  ["users", "ann", "language"],
  ["users", "ann", "trips", "oslo"],
];

async function linesOf({ memory }: Place, problems?: SessionProblem[]): Promise<string[]> {
  const lines: string[] = [];
  const options = problems === undefined ? {} : { onProblem: (problem: SessionProblem) => problems.push(problem) };
  for await (const line of memory.sessions.exportOwner("ann", options)) {
    lines.push(line);
  }
  return lines;
}

interface ItemLine {
  readonly type: string;
  readonly namespace: string[];
  readonly key: string;
}

const forms: readonly [string, EncryptionOptions | undefined, EncryptionOptions | undefined][] = [
  ["plain", undefined, undefined],
  ["encrypted", testKeys("k1"), testKeys("k2")],
];

describe.each(forms)("the items of an owner, %s", (_, before, after) => {
  it("are exported, erased, and imported as they were", async () => {
    const [from, to] = [place(before), place(after)];
    await writeEach(from);
    const lines = await linesOf(from);
    const items = lines.map((line) => JSON.parse(line) as ItemLine).filter(({ type }) => type === "item");
    expect(items.map(({ namespace, key }) => [...namespace, key]).sort()).toEqual(anns);
    const there = await Promise.all(anns.map((path) => from.store.get(path.slice(0, -1), path.at(-1)!)));
    expect(await from.memory.sessions.deleteOwner("ann")).toEqual({ sessions: 1, items: 3 });
    expect(await from.memory.sessions.deleteOwner("ann")).toEqual({ sessions: 0, items: 0 });
    expect(await linesOf(from)).toEqual([]);
    const left = (await from.store.search([])).map(({ namespace, key }) => [...namespace, key].join("/"));
    expect(left.sort()).toEqual(["notes-ann2/k", "users/ann", "users/ann-marie/k"]);
    if (before === undefined) {
      expect(await from.stored()).not.toContain("zebra");
    }

    expect(await to.memory.sessions.import(lines)).toMatchObject({ sessions: 1, items: 3, failed: 0 });
    expect((await to.stored()).includes("zebra")).toBe(after === undefined);
    expect(await Promise.all(anns.map((path) => to.store.get(path.slice(0, -1), path.at(-1)!)))).toEqual(there);
    expect(await to.memory.sessions.import(lines)).toMatchObject({ items: 0, unchanged: 4 });
    await to.store.put(["users", "ann"], "language", { said: "other" });
    await expect(to.memory.sessions.import(lines)).rejects.toMatchObject({ code: "exists" });
  });
});

describe("the items of an owner", () => {
  it("are not asked where nobody says which they are", async () => {
    const { memory, store, ...rest } = place(undefined, {});
    await writeEach({ memory, store, ...rest });
    const types = (await linesOf({ memory, store, ...rest })).map((line) => (JSON.parse(line) as ItemLine).type);
    expect(types).not.toContain("item");
    expect(await memory.sessions.deleteOwner("ann")).toEqual({ sessions: 1, items: "not asked" });
    expect(await store.search(["users", "ann"])).toHaveLength(2);
  });

  it.each([
    ["everybody's", () => [[]]],
    ["no list", () => "users"],
    ["a namespace that is none", () => [["users", "a.b"]]],
    ["an empty label", () => [["users", ""]]],
    ["names in place of namespaces", () => ["users"]],
  ])("are refused as %s, before anything is removed", async (_, given) => {
    const at = place(undefined, { ownerNamespaces: given });
    await writeEach(at);
    const before = await at.stored();
    const refused = { name: "ConfigurationError", option: "ownerNamespaces" };
    await expect(at.memory.sessions.deleteOwner("ann")).rejects.toMatchObject(refused);
    expect(() => at.memory.sessions.exportOwner("ann")).toThrow(expect.objectContaining(refused));
    expect(await at.stored()).toBe(before);
  });

  it("keep their expiry in an import, and are left out where it has passed", async () => {
    const [from, to, late] = [place(), place(), place()];
    await from.store.put(["users", "ann"], "k", { a: 1 }, undefined, { itemTTL: 1_000 });
    const [line = ""] = await linesOf(from);
    await to.memory.sessions.import([line]);
    const left = await client.pttl(`${to.keyPrefix}:{store:items}:values`);
    expect([left > 900_000, left <= 1_000_000]).toEqual([true, true]);
    const past = line.replace(/"expiresAt":\d+/, `"expiresAt":${Date.now() - 1}`);
    expect(await late.memory.sessions.import([past])).toMatchObject({ items: 0, expired: 1 });
    expect(await late.memory.sessions.import([past], { sessionTTL: 10 })).toMatchObject({ items: 1 });
  });

  it("are named where they cannot be read, and the others are exported", async () => {
    const at = place();
    await writeEach(at);
    const values = `${at.keyPrefix}:{store:items}:values`;
    await client.hset(values, "users\0ann\0\0language", "no record");
    const problems: SessionProblem[] = [];
    const types = (await linesOf(at, problems)).map((line) => (JSON.parse(line) as ItemLine).type);
    expect(types.filter((type) => type === "item")).toHaveLength(2);
    expect(problems.map(({ sessionId, kind, error }) => [sessionId, kind, error.code])).toEqual([
      ["", "item", "corrupt"],
    ]);
    await client.unlink(values);
    await expect(linesOf(at)).rejects.toMatchObject({ code: "damaged" });
    await expect(at.memory.sessions.deleteOwner("ann")).rejects.toMatchObject({ code: "damaged" });
  });

  it.each([
    ["an empty namespace", (line: string) => line.replace('["users","ann"]', "[]")],
    ["a label that is none", (line: string) => line.replace('["users","ann"]', '["users","a.b"]')],
    ["no value", (line: string) => line.replace(/"value":.*\}\}/, '"value":1}')],
    ["no time", (line: string) => line.replace(/"createdAt":\d+,/, "")],
  ])("are refused in an import with %s, and nothing is written", async (_, change) => {
    const [from, to] = [place(), place()];
    await from.store.put(["users", "ann"], "k", { a: 1 });
    const [line = ""] = await linesOf(from);
    expect(change(line)).not.toBe(line);
    await expect(to.memory.sessions.import([change(line)])).rejects.toMatchObject({ code: "corrupt" });
    expect(await to.stored()).toBe("");
    const problems: unknown[] = [];
    const onProblem = (problem: unknown) => problems.push(problem);
    expect(await to.memory.sessions.import([change(line), line], { onProblem })).toMatchObject({ items: 1 });
    expect(problems).toHaveLength(1);
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
