import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { keyOf, type DataPart } from "../../src/store/redis/keys.js";
import { keyField } from "../../src/store/redis/stored-fields.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { storedBytes } from "../support/stored-bytes.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";

// What somebody can do who writes to Redis, has no key, and may have an account of the application.

const client = sharedClient();
afterEach(closeMemories);

const keys = testKeys("k1");
const refusing: EncryptionOptions = { ...keys, plain: "refuse" };
const owner = "ann";
const plainText = { name: "EncryptionError", code: "plain_text" };
const wrongKey = { name: "EncryptionError", code: "wrong_key" };
const thread = { configurable: { thread_id: "s" } };

/** A process of its own, which knows nothing yet. */
function processWith(keyPrefix: string, encryption?: EncryptionOptions): RedisChatMemory {
  return newMemory({ redis: { keyPrefix }, ...(encryption && { encryption }) });
}

/** Everything whose texts are sealed, the same under each prefix. */
async function written(encryption?: EncryptionOptions): Promise<string> {
  const keyPrefix = uniquePrefix();
  const reducer = () => [new SystemMessage({ id: "h", content: "head" })];
  const memory = newMemory({ redis: { keyPrefix }, ...(encryption && { encryption }), reducer });
  const history = memory.history("s", { owner, title: "title", metadata: { note: "metadata" } });
  const turn = [new HumanMessage({ id: "q", content: "question" }), new AIMessage({ id: "a", content: "answer" })];
  await history.append(turn, { side: { set: { note: "side" } } });
  await history.reduceView();
  await memory.drain();
  const checkpoint = { ...emptyCheckpoint(), channel_values: { text: "thread" }, channel_versions: { text: 1 } };
  const place = { configurable: { thread_id: "s", checkpoint_ns: "" } };
  await new RedisSaver({ memory }).put(place, checkpoint, { source: "input", step: 0, parents: {} }, { text: 1 });
  await new RedisStore({ memory }).put(["u"], "k", { text: "item" });
  const run = await redisRuns(memory).start("s", { turnId: "r", owner }, async function* () {
    yield "chunk";
  });
  await all(run);
  return keyPrefix;
}

/** Puts what stands at a place of one prefix, in plain text, into the same place of another. */
type Forgery = (from: string, to: string) => Promise<unknown>;

const field =
  (name: string): Forgery =>
  async (from, to) =>
    client.hset(`${to}:{s}:state`, name, (await client.hget(`${from}:{s}:state`, name))!);
const keysOf =
  (id: string, ...parts: readonly DataPart[]): Forgery =>
  async (from, to) => {
    for (const part of parts) {
      await client.restore(keyOf(to, part, id), 0, (await client.dumpBuffer(keyOf(from, part, id)))!, "REPLACE");
    }
  };
const record: Forgery = async (from, to) =>
  client.lset(`${to}:{s}:log`, 1, (await client.lindex(`${from}:{s}:log`, 1))!);

async function all(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const found = [];
  for await (const item of items) {
    found.push(item);
  }
  return found;
}

/** Reads that meet the text of a place. */
const reads: Readonly<Record<string, (memory: RedisChatMemory) => Promise<unknown>>> = {
  transcript: (memory) => memory.history("s", { owner }).getTranscript(),
  view: (memory) => memory.history("s", { owner }).getMessages(),
  get: (memory) => memory.sessions.get("s", { owner }),
  export: async (memory) => all(memory.sessions.export("s", { owner })),
  thread: (memory) => new RedisSaver({ memory }).getTuple(thread),
  item: (memory) => new RedisStore({ memory }).get(["u"], "k"),
  run: async (memory) => all(redisRuns(memory).join("s", { owner })),
};

describe("plain text that somebody puts into Redis in place of", () => {
  it.each<[place: string, forge: Forgery, read: keyof typeof reads, text: string]>([
    ["a record", record, "transcript", "answer"],
    ["a head", field("head"), "view", "head"],
    ["a title", field("title"), "get", "title"],
    ["metadata", field("metadata"), "get", "metadata"],
    ["side data", field("side:note"), "export", "side"],
    ["a whole session", keysOf("s", "log", "ids", "state"), "transcript", "answer"],
    ["a thread", keysOf("s", "checkpoints", "order", "items"), "thread", "thread"],
    ["items", keysOf("items", "values", "names"), "item", "item"],
    ["a run", keysOf("s", "run"), "run", "chunk"],
  ])("%s is read, and refused with plain: refuse", async (_, forge, read, text) => {
    const [plain, sealed] = [await written(), await written(refusing)];
    expect(JSON.stringify(await reads[read]!(processWith(sealed, refusing)))).toContain(text);
    await forge(plain, sealed);
    expect(JSON.stringify(await reads[read]!(processWith(sealed, keys)))).toContain(text);
    await expect(reads[read]!(processWith(sealed, refusing))).rejects.toMatchObject(plainText);
  });
});

describe("with plain: refuse", () => {
  it("reencrypt() encrypts no plain text, which somebody may have forged", async () => {
    const [plain, sealed] = [await written(), await written(refusing)];
    for (const forge of [
      keysOf("s", "log", "ids", "state", "checkpoints", "order", "items"),
      keysOf("items", "values", "names"),
    ]) {
      await forge(plain, sealed);
    }
    const bytes = async () =>
      [...(await storedBytes(client, sealed))].map(([key, text]) => [key, text.split("\n").sort()]);
    const before = await bytes();
    const events: MemoryEvent[] = [];
    const memory = newMemory({
      redis: { keyPrefix: sealed },
      encryption: refusing,
      onEvent: (event) => void events.push(event),
    });
    expect(await memory.sessions.reencrypt()).toMatchObject({ sealed: 0, failed: 3 });
    expect(await bytes()).toEqual(before);
    expect(events.flatMap((event) => ("error" in event ? [event.error] : []))).toEqual(
      [1, 2, 3].map(() => expect.objectContaining(plainText)),
    );
  });

  it("a list shows a session without a plain title", async () => {
    const [plain, sealed] = [await written(), await written(refusing)];
    await field("title")(plain, sealed);
    const { sessions } = await processWith(sealed, refusing).sessions.list({ owner });
    expect(sessions).toMatchObject([{ sessionId: "s", metadata: {} }]);
    expect(sessions[0]).not.toHaveProperty("title");
  });

  it("a rebuild keeps a plain record, which reads refuse", async () => {
    const [plain, sealed] = [await written(), await written(refusing)];
    await record(plain, sealed);
    await client.hdel(`${sealed}:{s}:state`, "next");
    const memory = newMemory({ redis: { keyPrefix: sealed }, encryption: refusing });
    await memory.history("s", { owner }).rebuild();
    await expect(memory.history("s", { owner }).getTranscript()).rejects.toMatchObject(plainText);
  });
});

describe("an owner that somebody changed in Redis", () => {
  /** Names another owner in each place that names one, and in his list. */
  async function takenOver(keyPrefix: string): Promise<void> {
    await client.hset(`${keyPrefix}:{s}:state`, "owner", "mallory");
    await client.hset(`${keyPrefix}:{s}:ids`, "owner", "mallory");
    await client.zadd(keyOf(keyPrefix, "sessions", "mallory"), Date.now(), "s");
  }

  it.each([
    ["getMessages", (memory: RedisChatMemory) => memory.history("s", { owner: "mallory" }).getMessages()],
    ["getPage", (memory: RedisChatMemory) => memory.history("s", { owner: "mallory" }).getPage()],
    ["sessions.get", (memory: RedisChatMemory) => memory.sessions.get("s", { owner: "mallory" })],
    ["sessions.export", (memory: RedisChatMemory) => all(memory.sessions.export("s", { owner: "mallory" }))],
    ["addMessages", (memory: RedisChatMemory) => memory.history("s", { owner: "mallory" }).addUserMessage("x")],
    ["sessions.update", (memory: RedisChatMemory) => memory.sessions.update("s", { title: "x" }, { owner: "mallory" })],
  ])("opens nothing by %s, and writes nothing", async (_, call) => {
    const keyPrefix = await written(keys);
    const knowing = processWith(keyPrefix, keys);
    expect(await knowing.history("s", { owner }).getMessages()).not.toEqual([]);
    await takenOver(keyPrefix);
    const before = await storedBytes(client, `${keyPrefix}:{s}`);
    for (const memory of [knowing, processWith(keyPrefix, keys)]) {
      await expect(call(memory)).rejects.toMatchObject(wrongKey);
    }
    expect(await storedBytes(client, `${keyPrefix}:{s}`)).toEqual(before);
    const [session] = (await processWith(keyPrefix, keys).sessions.list({ owner: "mallory" })).sessions;
    expect(session).toMatchObject({ sessionId: "s", locked: true, metadata: {} });
  });

  it.each([
    ["without the mark", (key: string) => key.replace(/ [\w-]{16}$/, "")],
    ["with the mark of another", (key: string, other: string) => key.replace(/ [\w-]{16}$/, other.slice(-17))],
  ])("opens nothing by a key %s", async (_, changed) => {
    const keyPrefix = await written(keys);
    await processWith(keyPrefix, keys).history("own", { owner: "mallory" }).addUserMessage("x");
    const other = (await client.hget(`${keyPrefix}:{own}:state`, "key"))!;
    await takenOver(keyPrefix);
    for (const part of ["state", "ids"] as const) {
      const key = keyOf(keyPrefix, part, "s");
      const name = part === "state" ? "key" : keyField;
      await client.hset(key, name, changed((await client.hget(key, name))!, other));
    }
    const read = processWith(keyPrefix, keys).history("s", { owner: "mallory" }).getMessages();
    await expect(read).rejects.toMatchObject(wrongKey);
  });

  it.each(["a rotation", "a fork", "an import"])(
    "opens nothing after %s, and everything for its owner",
    async (how) => {
      const keyPrefix = await written(keys);
      let [prefix, id] = [keyPrefix, "s"];
      if (how === "a rotation") {
        expect(await processWith(prefix, testKeys("k2", "k1")).sessions.reencrypt()).toMatchObject({ failed: 0 });
      } else if (how === "a fork") {
        await processWith(prefix, keys).history("s").fork("copy");
        id = "copy";
      } else {
        const lines = all(processWith(prefix, keys).sessions.export("s")) as Promise<string[]>;
        prefix = uniquePrefix();
        await processWith(prefix, keys).sessions.import(await lines);
      }
      const encryption = testKeys("k2", "k1");
      expect(await processWith(prefix, encryption).history(id, { owner }).getMessages()).toHaveLength(1);
      expect(await processWith(prefix, encryption).history(id).getMessages()).toHaveLength(1);
      await client.hset(keyOf(prefix, "state", id), "owner", "mallory");
      const read = processWith(prefix, encryption).history(id, { owner: "mallory" }).getMessages();
      await expect(read).rejects.toMatchObject(wrongKey);
    },
  );
});
