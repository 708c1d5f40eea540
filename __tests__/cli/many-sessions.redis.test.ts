import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { ownerKey } from "../../src/store/redis/keys.js";
import type { EncryptionKeys } from "../../src/store/sealed/keys/key-ring.js";
import { jsonLines } from "../support/built-command.js";
import { hostedCommands } from "../support/hosted-commands.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, sharedRedisUrl } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import type { MemoryFigures } from "../../cli/session-memory.js";

const client = sharedClient();
const run = hostedCommands();
let count = 0;

/** Sessions of Ann's and Bob's, and commands that read them, with keys where some are given. */
async function place(encryption?: EncryptionKeys) {
  count += 1;
  const prefix = `cli-many-${process.pid}-${count}`;
  const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, ...(encryption && { encryption }) });
  for (const [sessionId, owner] of [
    ["a1", "ann"],
    ["a2", "ann"],
    ["b1", "bob"],
  ] as const) {
    await memory.history(sessionId, { owner }).addMessages([human(`${sessionId}?`), ai("Yes."), human("Sure?")]);
  }
  await memory.drain();
  const key = (sessionId: string, part: string) => `${prefix}:{${sessionId}}:${part}`;
  const command = (args: readonly string[], keys?: EncryptionKeys) =>
    run([...args, "--url", sharedRedisUrl(), "--prefix", prefix], { env: keys ? environment(keys) : {} });
  return { prefix, memory, key, command };
}

/** A thread, an item and a run. */
async function writeBeside(memory: RedisChatMemory) {
  await new RedisStore({ memory }).put(["u"], "k", { a: "Oslo" });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("a", () => ({ messages: [] }))
    .addEdge(START, "a")
    .compile({ checkpointer: new RedisSaver({ memory }) });
  await graph.invoke({ messages: [human("Oslo?")] }, { configurable: { thread_id: "t" } });
  const started = await redisRuns(memory).start("r", { turnId: "t" }, async function* () {
    yield "Oslo";
  });
  for await (const _ of started);
}

function environment({ current, previous = [] }: EncryptionKeys): Record<string, string> {
  const texts = [current, ...previous]
    .flatMap((one) => one ?? [])
    .map(({ id, key }) => `${id}:${Buffer.from(key).toString("base64")}`);
  return { LANGCHAIN_REDIS_MEMORY_KEYS: texts.join(",") };
}

describe("the command delete", () => {
  it("erases all sessions of an owner with --owner --yes, and nobody else's", async () => {
    const { key, command, memory } = await place();
    const { exitCode, output } = await command(["delete", "--owner", "ann", "--yes"]);
    expect([exitCode, output]).toEqual([0, "ann: 2 sessions deleted, items not asked (--namespace)\n"]);
    expect(await client.exists(key("a1", "log"), key("a2", "log"))).toBe(0);
    expect(await memory.history("b1", { owner: "bob" }).getMessages()).toHaveLength(3);
  });

  it("leaves what is in no list, unless --unlisted asks for it", async () => {
    const { prefix, key, command } = await place();
    await client.zrem(ownerKey(prefix, "ann"), "a1");
    const names = async (...more: string[]) =>
      [...(await command(["delete", "--owner", "ann", "--dry-run", ...more])).output.matchAll(/^(a\d): would/gmu)]
        .map(([, id]) => id)
        .sort();
    expect([await names(), await names("--unlisted")]).toEqual([["a2"], ["a1", "a2"]]);
    const erase = async (...more: string[]) =>
      (await command(["delete", "--owner", "ann", "--yes", ...more])).output.split(",")[0];
    expect(await erase()).toBe("ann: 1 session deleted");
    expect(await client.exists(key("a1", "log"), key("a2", "log"))).toBe(1);
    expect(await erase("--unlisted")).toBe("ann: 1 session deleted");
    expect(await client.exists(key("a1", "log"), key("a2", "log"))).toBe(0);
    expect(await command(["delete", "a1", "--unlisted", "--yes"])).toMatchObject({ exitCode: 2 });
  });

  it.each([[["a1", "nobody"]], [["--owner", "ann"]], [["--owner", "ann", "--unlisted"]]])(
    "with %j and --dry-run names them and erases nothing",
    async (what) => {
      const { prefix, command } = await place();
      const before = (await client.keys(`${prefix}:*`)).sort();
      const { output } = await command(["delete", ...what, "--dry-run", "--yes"]);
      expect(output).toContain("a1: would be deleted, 3 messages\n");
      expect(output).toMatch(/\d sessions? would be deleted\. Nothing was deleted \(--dry-run\)\.\n$/);
      expect((await client.keys(`${prefix}:*`)).sort()).toEqual(before);
    },
  );

  it("needs sessions or an owner, and --yes or --dry-run", async () => {
    const { command, memory } = await place();
    expect(await command(["delete"])).toMatchObject({
      exitCode: 2,
      errors: "delete: name sessions, or give --owner.\n",
    });
    expect(await command(["check"])).toMatchObject({
      exitCode: 2,
      errors: "check: name sessions, or a LangGraph thread by --thread, or give --all.\n",
    });
    expect(await command(["delete", "a1", "--owner", "ann", "--yes"])).toMatchObject({ exitCode: 2 });
    expect((await command(["delete", "--owner", "ann"])).errors).toContain("add --yes to do it");
    expect(await memory.sessions.count({ owner: "ann" })).toBe(2);
  });
});

describe("the command reindex", () => {
  it("makes the lists of owners agree with the sessions", async () => {
    const { prefix, command, memory } = await place();
    await client.unlink(`${prefix}:{owner:ann}:sessions`, `${prefix}:{owner:ann}:summaries`);
    const { exitCode, output } = await command(["reindex"]);
    expect([exitCode, output]).toEqual([0, "The lists of owners agree with 3 sessions that have an owner.\n"]);
    expect(await memory.sessions.count({ owner: "ann" })).toBe(2);
  });
});

describe("the command stats", () => {
  it("counts threads, items and runs beside sessions, but no tombstone of one", async () => {
    const { command, memory } = await place();
    await writeBeside(memory);
    const figures = async () => jsonLines((await command(["stats", "--json"])).output)[0];
    expect(await figures()).toMatchObject({ sessions: 3, threads: 1, items: 1, runs: 1 });
    expect((await command(["stats"])).output).toMatch(/^also +1 thread, 1 item and 1 run$/m);
    await memory.sessions.delete("t");
    await memory.sessions.delete("r");
    expect(await figures()).toMatchObject({ sessions: 3, threads: 0, items: 1, runs: 0 });
    await memory.close();
  });
});

describe("the command reencrypt", () => {
  it("seals everything with the current key, after which the older one can go", async () => {
    const { command } = await place(testKeys("old"));
    const { exitCode, output } = await command(["reencrypt", "--json"], testKeys("new", "old"));
    const counts = { sessions: 3, threads: 0, items: 0, runs: 0, keys: 3, sealed: 0 };
    expect([exitCode, jsonLines(output)]).toEqual([0, [{ ...counts, incomplete: 0, failed: 0, interrupted: false }]]);
    expect((await command(["check", "--all"], testKeys("new"))).exitCode).toBe(0);
  });

  it("names sessions that it cannot open or that lost their state, does the others, and ends with 1", async () => {
    const { prefix, key, command } = await place(testKeys("old"));
    const stranger = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, encryption: testKeys("stranger") });
    await stranger.history("s1").addMessages([human("Oslo?")]);
    await client.unlink(key("a1", "state"), key("b1", "ids"));
    const { exitCode, output } = await command(["reencrypt"], testKeys("new", "old"));
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^s1: failed: encrypted with the key "stranger", which is not in \w+\n/m);
    expect(output).toMatch(/^a1: failed: its state is gone/m);
    expect(output).toMatch(/ of 4 sessions, .* encrypted with the current key; 2 left as named above\.\n$/);
    // Its key lies in both of the hashes, of which one is gone.
    const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, encryption: testKeys("new") });
    for (const id of ["a1", "b1"]) {
      await memory.history(id).rebuild();
      expect((await memory.history(id).getMessages()).length).toBeGreaterThan(0);
    }
    expect((await command(["check", "a2"], testKeys("new"))).exitCode).toBe(0);
  });

  it("seals threads and items, and ends with 1 while a run holds text of the older key", async () => {
    const { prefix, key, command } = await place(testKeys("old"));
    const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, encryption: testKeys("old") });
    await writeBeside(memory);
    const { exitCode, output } = await command(["reencrypt"], testKeys("new", "old"));
    expect(exitCode).toBe(1);
    expect(output).toMatch(/^run r: incomplete: a run holds text of another key until it expires/m);
    expect(output).toMatch(/ 1 thread and 1 item encrypted with the current key; 1 left as named above\.\n$/);
    await client.unlink(key("r", "run"));
    expect((await command(["reencrypt"], testKeys("new"))).exitCode).toBe(0);
    await memory.close();
  });

  it("seals bytes that are not valid UTF-8 as every read shows them", async () => {
    const { prefix, key, command } = await place();
    const text = await client.lindex(key("a1", "log"), 1);
    await client.lset(key("a1", "log"), 1, Buffer.from(text!.replace("Yes.", "Y\xff"), "latin1"));
    const texts = async (encryption?: EncryptionKeys) => {
      const reader = new RedisChatMemory({ client, redis: { keyPrefix: prefix }, ...(encryption && { encryption }) });
      return (await reader.history("a1").getMessages()).map((message) => message.text);
    };
    const before = await texts();
    expect(before[1]).toContain("Y\ufffd");
    expect((await command(["reencrypt"], testKeys("new"))).exitCode).toBe(0);
    const records = await client.lrange(key("a1", "log"), 0, -1);
    expect(records.filter((record) => !record.includes('"sealed":"'))).toEqual([]);
    expect(await texts(testKeys("new"))).toEqual(before);
  });

  it("gives each session another data key by --data-keys", async () => {
    const { key, command } = await place(testKeys("new"));
    const stored = () => client.hget(key("a1", "state"), "key");
    const before = await stored();
    expect(await command(["reencrypt", "--data-keys"], testKeys("new"))).toMatchObject({
      exitCode: 0,
      output: expect.stringMatching(/^3 keys and 0 parts of 3 sessions/),
    });
    expect(await stored()).toMatch(/^[\w-]{8} new /);
    expect(await stored()).not.toBe(before);
    expect((await command(["check", "--all"], testKeys("new"))).exitCode).toBe(0);
  });

  it("says which variable to set where there is no key", async () => {
    const { command } = await place();
    const { exitCode, errors } = await command(["reencrypt"]);
    expect([exitCode, errors]).toEqual([2, expect.stringContaining("Set LANGCHAIN_REDIS_MEMORY_KEYS")]);
  });
});

describe("the command rebuild", () => {
  it("names a record that was changed under its seal, and rebuilds the rest", async () => {
    const keys = testKeys("current");
    const { key, command, memory } = await place(keys);
    const stored = (await client.lindex(key("a1", "log"), 1))!;
    const sealed = stored.indexOf("\n") + 5;
    const changed = stored.slice(0, sealed) + (stored[sealed] === "A" ? "B" : "A") + stored.slice(sealed + 1);
    await client.lset(key("a1", "log"), 1, changed);
    await client.unlink(key("a1", "ids"));
    const { exitCode, output, errors } = await command(["rebuild", "a1"], keys);
    expect([exitCode, errors]).toEqual([1, ""]);
    expect(output).toContain("a1: rebuilt with 3 messages");
    expect(output).toContain("the key does not open position 1: it stays in the log, and reads of it fail.\n");
    expect(await client.hlen(key("a1", "ids"))).toBeGreaterThanOrEqual(3);
    await memory.history("a1", { owner: "ann" }).append([human("Later?")]);
  });

  it("refuses where the key opens nothing, because it is another one", async () => {
    const { key, command } = await place(testKeys("current"));
    await client.unlink(key("a1", "ids"));
    const other = { ...testKeys("current"), current: { id: "current", key: new Uint8Array(32).fill(7) } };
    const { exitCode, errors } = await command(["rebuild", "a1"], other);
    expect([exitCode, errors]).toEqual([1, expect.stringContaining("cannot be decrypted")]);
    expect(await client.exists(key("a1", "ids"))).toBe(0);
  });
});

it("A session of which only the index of its messages is left is damaged, and can be deleted", async () => {
  const { key, command } = await place();
  await client.unlink(key("a1", "state"), key("a1", "log"));
  const rows = jsonLines((await command(["sessions", "--json"])).output);
  expect(rows).toContainEqual(expect.objectContaining({ sessionId: "a1", messages: 0, rounds: 0, damaged: true }));
  expect(rows).toHaveLength(3);
  expect(jsonLines((await command(["stats", "--json"])).output)[0]).toMatchObject({ sessions: 3, damaged: 1 });
  const checked = await command(["check", "--all"]);
  expect([checked.exitCode, checked.output]).toEqual([1, expect.stringContaining("a1: damaged: no message is left")]);
  expect((await command(["show", "a1"])).output).toMatch(/^ {2}damaged {5}no message is left/m);
  const dry = await command(["rebuild", "a1", "--dry-run"]);
  expect([dry.exitCode, dry.output]).toEqual([
    1,
    "a1: nothing was left of it but the index of its messages, which would be removed.\n" +
      "a1: without --yes, nothing would be done.\n",
  ]);
  expect((await command(["rebuild", "a1", "--dry-run", "--yes"])).exitCode).toBe(0);
  expect(await command(["delete", "a1", "--yes"])).toMatchObject({ exitCode: 0, output: "a1: deleted\n" });
  expect(await client.exists(key("a1", "ids"))).toBe(0);
});

const prefix = `cli-memory-${process.pid}`;
let truth = 0;

/** Most sessions are short, and few are long. */
beforeAll(async () => {
  const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix } });
  const write = (index: number, messages: number, size: number) =>
    memory
      .history(`s${index}`, { owner: `owner${index % 7}` })
      .addMessages(Array.from({ length: messages }, (_, one) => human(`${one} ${"x".repeat(size)}`)));
  await Promise.all(Array.from({ length: 300 }, (_, index) => write(index, 1 + (index % 5), 40 + (index % 3) * 300)));
  await Promise.all(Array.from({ length: 10 }, (_, index) => write(300 + index, 200, 400)));
  await memory.drain();
  await memory.sessions.reindex();
  truth = await bytesOfAllKeys();
});

async function bytesOfAllKeys(): Promise<number> {
  const keys = await client.keys(`${prefix}:*`);
  const sizes = await Promise.all(keys.map((key) => client.memory("USAGE", key, "SAMPLES", 0)));
  return sizes.reduce<number>((sum, size) => sum + Number(size), 0);
}

async function measured(...args: readonly string[]): Promise<MemoryFigures> {
  const { output } = await run(["stats", "--json", "--url", sharedRedisUrl(), "--prefix", prefix, ...args]);
  return (jsonLines(output)[0] as { memory: MemoryFigures }).memory;
}

describe("The memory that stats says, of sessions whose sizes differ much", () => {
  it("is the truth within 2 % where all are measured", async () => {
    const { sampled, total, low, high } = await measured();
    expect(sampled).toBe(310);
    expect([low, high]).toEqual([total, total]);
    expect(Math.abs(total / truth - 1)).toBeLessThan(0.02);
  });

  it("is a range that holds the truth where a sample is measured", async () => {
    const { sampled, total, low, high } = await measured("--sample", "80");
    expect(sampled).toBe(80);
    expect(low).toBeLessThan(truth);
    expect(high).toBeGreaterThan(truth);
    expect([low < total, total < high, high / low < 1.5]).toEqual([true, true, true]);
    const { output } = await run(["stats", "--sample", "80", "--url", sharedRedisUrl(), "--prefix", prefix]);
    expect(output).toMatch(/^ {11}\S+ [kM]B to \S+ [kM]B, as 80 of 310 sessions say$/m);
  });

  it("is measured whole where few messages are as large as all the others", async () => {
    const memory = new RedisChatMemory({ client, redis: { keyPrefix: prefix } });
    for (let written = 0; written < truth; written += 900_000) {
      await memory.history("s7", { owner: "owner0" }).addMessages([human("x".repeat(900_000))]);
    }
    await memory.drain();
    expect(Math.abs((await measured()).total / (await bytesOfAllKeys()) - 1)).toBeLessThan(0.02);
  });
});
