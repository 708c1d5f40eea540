import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { keyOf, type DataPart } from "../../src/store/redis/keys.js";
import { newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";
import { keyField } from "../../src/store/redis/stored-fields.js";
import type { EncryptionOptions } from "../../src/store/sealed/keys/key-ring.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { storedBytes } from "../support/stored-bytes.js";

// What somebody can do who writes to Redis, has no key, and may have an account of the application: what is refused of
// the texts that they change, swap or move, and what is not detected.

const client = sharedClient();

const keys = testKeys("k1");
const owner = "ann";
const long = (text: string) => `${text} `.repeat(20);
const thread = (checkpoint_id?: string) => ({
  configurable: { thread_id: "s", checkpoint_ns: "", ...(checkpoint_id !== undefined && { checkpoint_id }) },
});

/** A process of its own, which knows nothing yet; without keys where the encryption is null. */
const processWith = (keyPrefix: string, encryption: EncryptionOptions | null = keys, extra: object = {}) =>
  newMemory({ redis: { keyPrefix }, ...(encryption && { encryption }), ...extra });

async function put(memory: RedisChatMemory, text: string): Promise<void> {
  const checkpoint = { ...emptyCheckpoint(), channel_values: { text: long(text) }, channel_versions: { text: 1 } };
  await new RedisSaver({ memory }).put(thread(), checkpoint, { source: "input", step: 0, parents: {} }, { text: 1 });
}

/** Everything whose texts are sealed: a session, a thread, items and a run. */
async function written(name = "new", encryption: EncryptionOptions | null = keys): Promise<string> {
  const keyPrefix = uniquePrefix();
  const reducer = () => [new SystemMessage({ id: "h", content: "head" })];
  const memory = processWith(keyPrefix, encryption, { reducer });
  const history = memory.history("s", { owner, title: `title ${name}`, metadata: { note: name } });
  const turn = [new HumanMessage({ id: "q", content: "question" }), new AIMessage({ id: "a", content: "answer" })];
  await history.append(turn, { side: { set: { one: `1 ${name}`, two: `2 ${name}` } } });
  await history.reduceView();
  await memory.drain();
  await put(memory, name);
  await new RedisStore({ memory }).put(["u"], "one", { text: `1 ${name}` });
  await new RedisStore({ memory }).put(["u"], "two", { text: `2 ${name}` });
  const run = await redisRuns(memory).start("s", { turnId: "r", owner }, async function* () {
    yield "chunk";
  });
  await all(run);
  return keyPrefix;
}

const reads = {
  transcript: (memory: RedisChatMemory) => memory.history("s").getTranscript(),
  view: (memory: RedisChatMemory) => memory.history("s").getMessages(),
  get: (memory: RedisChatMemory) => memory.sessions.get("s"),
  export: async (memory: RedisChatMemory) => all(memory.sessions.export("s")),
  thread: (memory: RedisChatMemory) => new RedisSaver({ memory }).getTuple(thread()),
  item: (memory: RedisChatMemory) =>
    Promise.all(["one", "two"].map((key) => new RedisStore({ memory }).get(["u"], key))),
  run: async (memory: RedisChatMemory) => all(redisRuns(memory).join("s", {})),
};

/** A text in Redis. */
interface Place {
  readonly read: keyof typeof reads;
  get(prefix: string): Promise<string>;
  set(prefix: string, text: string): Promise<unknown>;
}

const sealedPart = /~[\w-]{8} [\w-]+/;
const isSealed = (text: string) => sealedPart.test(text);

function inHash(read: keyof typeof reads, part: DataPart, { id = "s", field }: { id?: string; field: RegExp }): Place {
  const nameIn = async (prefix: string) => {
    const fields = await client.hgetall(keyOf(prefix, part, id));
    const [name] = Object.entries(fields).find(([each, text]) => field.test(each) && isSealed(text))!;
    return name;
  };
  return {
    read,
    get: async (prefix) => (await client.hget(keyOf(prefix, part, id), await nameIn(prefix)))!,
    set: async (prefix, text) => client.hset(keyOf(prefix, part, id), await nameIn(prefix), text),
  };
}

function record(index: number): Place {
  return {
    read: "transcript",
    get: async (prefix) => (await client.lindex(keyOf(prefix, "log", "s"), index))!,
    set: (prefix, text) => client.lset(keyOf(prefix, "log", "s"), index, text),
  };
}

/** The text of a run's stream, which is written anew around it. */
const textOfRun: Place = {
  read: "run",
  get: async (prefix) => (await client.xrange(keyOf(prefix, "run", "s"), "-", "+")).flat(2).find(isSealed)!,
  set: async (prefix, text) => {
    const key = keyOf(prefix, "run", "s");
    const entries = await client.xrange(key, "-", "+");
    await client.del(key);
    for (const [id, fields] of entries) {
      await client.xadd(key, id, ...fields.map((field) => (isSealed(field) ? text : field)));
    }
  },
};

const places = {
  "a record": record(0),
  "another record": record(1),
  "a head": inHash("view", "state", { field: /^head$/ }),
  "a title": inHash("get", "state", { field: /^title$/ }),
  metadata: inHash("get", "state", { field: /^metadata$/ }),
  "side data": inHash("export", "state", { field: /^side:one$/ }),
  "other side data": inHash("export", "state", { field: /^side:two$/ }),
  "a text of a thread": inHash("thread", "checkpoints", { field: /./ }),
  "an item": inHash("item", "values", { id: "items", field: /one/ }),
  "another item": inHash("item", "values", { id: "items", field: /two/ }),
  "a text of a run": textOfRun,
} as const satisfies Record<string, Place>;
type PlaceName = keyof typeof places;
const names = Object.keys(places) as PlaceName[];

/** The text with one bit of its ciphertext changed, or one character of it. */
function edited(text: string): string {
  const at = text.startsWith("{") && text.includes("\n") ? text.indexOf("\n") + 20 : text.search(sealedPart) + 30;
  const other = text.includes("\n") ? String.fromCharCode(text.charCodeAt(at) ^ 1) : text[at] === "A" ? "B" : "A";
  return text.slice(0, at) + other + text.slice(at + 1);
}

/** With the ciphertext of another, behind the plain parts of the text. */
function withBody(text: string, other: string): string {
  return text.includes("\n")
    ? text.slice(0, text.indexOf("\n")) + other.slice(other.indexOf("\n"))
    : text.replace(sealedPart, sealedPart.exec(other)![0]);
}

const refused = { name: "EncryptionError", code: expect.stringMatching(/^(wrong|unknown)_key$/) };

describe("a text that somebody edited is refused:", () => {
  it.each(names)("%s", async (name) => {
    const prefix = await written();
    const { get, set, read } = places[name];
    await reads[read](processWith(prefix));
    await set(prefix, edited(await get(prefix)));
    await expect(reads[read](processWith(prefix))).rejects.toMatchObject(refused);
  });

  it.each<[string, (text: string) => string]>([
    ["another type", (text) => text.replace('"type":"human"', '"type":"system"')],
    ["another id", (text) => text.replace('"id":"q"', '"id":"x"')],
    ["another time", (text) => text.replace(/"at":\d/, '"at":9')],
    ["its end cut off", (text) => text.slice(0, -16)],
    ["one more line break", (text) => text.replace("\n", "\n\n")],
    ["a short ciphertext", (text) => `${text.split("\n")[0]!}\nAAAA`],
    ["no ciphertext", (text) => text.split("\n")[0]!],
    ["a character at its end", (text) => `${text}é`],
  ])("a record with %s", async (_, change) => {
    const prefix = await written();
    const text = await places["a record"].get(prefix);
    expect(change(text)).not.toBe(text);
    await places["a record"].set(prefix, change(text));
    await expect(reads.transcript(processWith(prefix))).rejects.toMatchObject(refused);
  });
});

describe("a text that somebody moved is refused:", () => {
  it.each(names)("%s, from another piece of data", async (name) => {
    const [prefix, other] = [await written(), await written()];
    const { get, set, read } = places[name];
    await set(prefix, await get(other));
    await expect(reads[read](processWith(prefix))).rejects.toMatchObject(refused);
  });

  it.each<[PlaceName, PlaceName]>([
    ["a record", "another record"],
    ["a head", "a title"],
    ["a title", "metadata"],
    ["metadata", "side data"],
    ["side data", "other side data"],
    ["an item", "another item"],
  ])("the ciphertext of %s, into that of %s", async (from, to) => {
    const prefix = await written();
    const { get, set, read } = places[to];
    await set(prefix, withBody(await get(prefix), await places[from].get(prefix)));
    await expect(reads[read](processWith(prefix))).rejects.toMatchObject(refused);
  });
});

describe("not detected, as docs/encryption.md says:", () => {
  it("records in another order", async () => {
    const prefix = await written();
    const [first, second] = [places["a record"], places["another record"]];
    const [one, two] = [await first.get(prefix), await second.get(prefix)];
    await Promise.all([first.set(prefix, two), second.set(prefix, one)]);
    const transcript = await processWith(prefix).history("s").getTranscript();
    expect(transcript.map(({ id }) => id)).toEqual(["a", "q"]);
  });

  it("an older text of the same place", async () => {
    const prefix = await written("old");
    const { get, set } = places["a title"];
    const older = await get(prefix);
    await processWith(prefix).sessions.update("s", { title: "title new" });
    await set(prefix, older);
    expect(await processWith(prefix).sessions.get("s")).toMatchObject({ title: "title old" });
  });

  it.each<[string, readonly [DataPart, string][], keyof typeof reads]>([
    ["session", (["log", "ids", "state"] as const).map((part) => [part, "s"]), "export"],
    ["thread", (["checkpoints", "items", "order"] as const).map((part) => [part, "s"]), "thread"],
    ["store of items", (["values", "names", "expiry"] as const).map((part) => [part, "items"]), "item"],
  ])("an older state of a whole %s", async (_, parts, read) => {
    const prefix = await written("old");
    const keys = parts.map(([part, id]) => keyOf(prefix, part, id));
    const older = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
    const memory = processWith(prefix);
    await memory.history("s").append([], { side: { set: { one: "1 newer" } } });
    await put(memory, "newer");
    await new RedisStore({ memory }).put(["u"], "one", { text: "1 newer" });
    expect(JSON.stringify(await reads[read](processWith(prefix)))).toContain("newer");
    for (const [index, key] of keys.entries()) {
      await (older[index] === null ? client.del(key) : client.restore(key, 0, older[index]!, "REPLACE"));
    }
    const found = JSON.stringify(await reads[read](processWith(prefix)));
    expect([found.includes("old"), found.includes("newer")]).toEqual([true, false]);
  });
});

const refusing: EncryptionOptions = { ...keys, plain: "refuse" };
const plainText = { name: "EncryptionError", code: "plain_text" };
const wrongKey = { name: "EncryptionError", code: "wrong_key" };

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
const forgeRecord: Forgery = async (from, to) =>
  client.lset(`${to}:{s}:log`, 1, (await client.lindex(`${from}:{s}:log`, 1))!);

describe("plain text that somebody puts into Redis in place of", () => {
  it.each<[place: string, forge: Forgery, read: keyof typeof reads, text: string]>([
    ["a record", forgeRecord, "transcript", "answer"],
    ["a head", field("head"), "view", "head"],
    ["a title", field("title"), "get", "title"],
    ["metadata", field("metadata"), "get", '"note":"new"'],
    ["side data", field("side:one"), "export", "1 new"],
    ["a whole session", keysOf("s", "log", "ids", "state"), "transcript", "answer"],
    ["a thread", keysOf("s", "checkpoints", "order", "items"), "thread", "new new"],
    ["items", keysOf("items", "values", "names"), "item", "1 new"],
    ["a run", keysOf("s", "run"), "run", "chunk"],
  ])("%s is read, and refused with plain: refuse", async (_, forge, read, text) => {
    const [plain, sealed] = [await written("new", null), await written("new", refusing)];
    expect(JSON.stringify(await reads[read](processWith(sealed, refusing)))).toContain(text);
    await forge(plain, sealed);
    expect(JSON.stringify(await reads[read](processWith(sealed)))).toContain(text);
    await expect(reads[read](processWith(sealed, refusing))).rejects.toMatchObject(plainText);
  });
});

describe("with plain: refuse", () => {
  it("reencrypt() encrypts no plain text, which somebody may have forged", async () => {
    const [plain, sealed] = [await written("new", null), await written("new", refusing)];
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
    const memory = processWith(sealed, refusing, { onEvent: (event: MemoryEvent) => void events.push(event) });
    expect(await memory.sessions.reencrypt()).toMatchObject({ sealed: 0, failed: 3 });
    expect(await bytes()).toEqual(before);
    expect(events.flatMap((event) => ("error" in event ? [event.error] : []))).toEqual(
      [1, 2, 3].map(() => expect.objectContaining(plainText)),
    );
  });

  it("a list shows a session without a plain title", async () => {
    const [plain, sealed] = [await written("new", null), await written("new", refusing)];
    await field("title")(plain, sealed);
    const { sessions } = await processWith(sealed, refusing).sessions.list({ owner });
    expect(sessions).toMatchObject([{ sessionId: "s", metadata: {} }]);
    expect(sessions[0]).not.toHaveProperty("title");
  });

  it("a rebuild keeps a plain record, which reads refuse", async () => {
    const [plain, sealed] = [await written("new", null), await written("new", refusing)];
    await forgeRecord(plain, sealed);
    await client.hdel(`${sealed}:{s}:state`, "next");
    const memory = processWith(sealed, refusing);
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
    const keyPrefix = await written();
    const knowing = processWith(keyPrefix);
    expect(await knowing.history("s", { owner }).getMessages()).not.toEqual([]);
    await takenOver(keyPrefix);
    const before = await storedBytes(client, `${keyPrefix}:{s}`);
    for (const memory of [knowing, processWith(keyPrefix)]) {
      await expect(call(memory)).rejects.toMatchObject(wrongKey);
    }
    expect(await storedBytes(client, `${keyPrefix}:{s}`)).toEqual(before);
    const [session] = (await processWith(keyPrefix).sessions.list({ owner: "mallory" })).sessions;
    expect(session).toMatchObject({ sessionId: "s", locked: true, metadata: {} });
  });

  it.each([
    ["without the mark", (key: string) => key.replace(/ [\w-]{16}$/, "")],
    ["with the mark of another", (key: string, other: string) => key.replace(/ [\w-]{16}$/, other.slice(-17))],
  ])("opens nothing by a key %s", async (_, changed) => {
    const keyPrefix = await written();
    await processWith(keyPrefix).history("own", { owner: "mallory" }).addUserMessage("x");
    const other = (await client.hget(`${keyPrefix}:{own}:state`, "key"))!;
    await takenOver(keyPrefix);
    for (const part of ["state", "ids"] as const) {
      const key = keyOf(keyPrefix, part, "s");
      const name = part === "state" ? "key" : keyField;
      await client.hset(key, name, changed((await client.hget(key, name))!, other));
    }
    const read = processWith(keyPrefix).history("s", { owner: "mallory" }).getMessages();
    await expect(read).rejects.toMatchObject(wrongKey);
  });

  it.each(["a rotation", "a fork", "an import"])(
    "opens nothing after %s, and everything for its owner",
    async (how) => {
      const keyPrefix = await written();
      let [prefix, id] = [keyPrefix, "s"];
      if (how === "a rotation") {
        expect(await processWith(prefix, testKeys("k2", "k1")).sessions.reencrypt()).toMatchObject({ failed: 0 });
      } else if (how === "a fork") {
        await processWith(prefix).history("s").fork("copy");
        id = "copy";
      } else {
        const lines = all(processWith(prefix).sessions.export("s")) as Promise<string[]>;
        prefix = uniquePrefix();
        await processWith(prefix).sessions.import(await lines);
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
