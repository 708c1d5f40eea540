import fc from "fast-check";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";
import { MemoryError } from "../../src/base/errors.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { forAllAsync } from "../support/property-runs.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";

const client = sharedClient();

const gina = { owner: "gina", title: "Letters", metadata: { folder: "a" } };

/** A session of Gina's that lost keys; `prefix` is that of its memory's keys. */
async function damaged(...lost: readonly ("log" | "ids" | "state")[]) {
  const keyPrefix = uniquePrefix();
  const memory = newMemory({ redis: { keyPrefix } });
  await memory.history("s", gina).append([human("q"), ai("a")]);
  await memory.drain();
  const keys = sessionKeys(keyPrefix, "s");
  await client.unlink(...lost.map((part) => keys[part]));
  return { keyPrefix, memory: newMemory({ redis: { keyPrefix } }) };
}

describe("the rebuild of a session that lost its state", () => {
  it("is refused where the owner's name is lost, until somebody says it", async () => {
    const { memory } = await damaged("state", "ids");
    const unnamed = memory.history("s").rebuild();
    await expect(unnamed).rejects.toMatchObject({
      code: "damaged",
      retryable: false,
      message: expect.stringContaining("rebuild({ owner })") as string,
    });
    await expect(memory.history("s").rebuild({ owner: "mallory" })).rejects.toMatchObject({ code: "other_owner" });
    await expect(memory.history("s", { owner: "mallory" }).rebuild({ owner: "gina" })).rejects.toMatchObject({
      code: "other_owner",
    });
    await memory.history("s").rebuild({ owner: "gina" });
    expect(await memory.sessions.get("s")).toMatchObject({ owner: "gina" });
    await memory.history("s", { owner: "gina" }).rebuild({ owner: "gina" });
    // Refused by the history itself: to the store, it would be her own.
    const hers = memory.history("s", { owner: "gina" }).rebuild({ owner: "mallory" });
    await expect(hers).rejects.toMatchObject({ code: "other_owner" });
  });

  it("takes the owner that an operator names where no record says whose it is", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    await memory.history("s").append([human("q")]);
    const { ids, state } = sessionKeys(keyPrefix, "s");
    await client.unlink(ids, state);
    const bound = newMemory({ redis: { keyPrefix }, onDamage: "rebuild" }).history("s", { owner: "mallory" });
    await expect(bound.append([human("mine")])).rejects.toMatchObject({ code: "damaged" });
    await expect(bound.getMessages()).rejects.toMatchObject({ code: "damaged" });
    await expect(bound.rebuild({ owner: "mallory" })).rejects.toMatchObject({ code: "damaged" });
    await memory.history("s").rebuild({ owner: "gina" });
    expect(await memory.sessions.get("s")).toMatchObject({ owner: "gina" });
    await expect(bound.getMessages()).rejects.toMatchObject({ code: "other_owner" });
  });
});

describe("what an owner has, of which a part is lost", () => {
  it.each([[["state"]], [["state", "ids"]], [["ids"]]] as const)("is exported and erased without %s", async (lost) => {
    const { memory, keyPrefix } = await damaged(...lost);
    const lines = await all(memory.sessions.exportOwner("gina"));
    expect(lines.join("\n")).toContain('"q"');
    expect(await memory.sessions.deleteOwner("mallory", { unlisted: true })).toMatchObject({ sessions: 0 });
    expect(await memory.sessions.deleteOwner("gina", { unlisted: true })).toMatchObject({ sessions: 1 });
    const { log, ids } = sessionKeys(keyPrefix, "s");
    expect(await client.exists(log, ids)).toBe(0);
  });

  it("stays in the list when it is looked at, and when lists are made anew", async () => {
    const { memory, keyPrefix } = await damaged("state");
    const listed = async () => (await memory.sessions.list({ owner: "gina" })).sessions;
    const untitled = [{ sessionId: "s", metadata: {}, messages: 0 }];
    expect(await listed()).toMatchObject(untitled);
    await memory.sessions.reindex();
    expect(await listed()).toMatchObject(untitled);
    await client.unlink(`${keyPrefix}:{owner:gina}:sessions`);
    await memory.sessions.reindex();
    expect(await listed()).toMatchObject(untitled);
  });

  it("is a copy of another owner's by its own records", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    await memory.history("s", gina).append([human("q"), ai("a")]);
    await memory.history("s").fork("copy", { owner: "otto" });
    const { ids, state } = sessionKeys(keyPrefix, "copy");
    await client.unlink(ids, state);
    await expect(memory.history("copy", { owner: "gina" }).getMessages()).rejects.toMatchObject({
      code: "other_owner",
    });
    expect(texts(await memory.history("copy", { owner: "otto" }).getMessages())).toEqual(["q", "a"]);
  });
});

/** A text that only Gina's messages hold. */
const secret = "gina-secret";
const ginasChat = { owner: "gina", title: "Gina's chat", metadata: { folder: "letters" } };

type Intrusion = (memory: RedisChatMemory) => Promise<unknown>;

/** Each way in which another owner can name the session. */
const intrusions: Readonly<Record<string, Intrusion>> = {
  getMessages: (memory) => memory.history("s", { owner: "mallory" }).getMessages(),
  getTranscript: (memory) => memory.history("s", { owner: "mallory" }).getTranscript(),
  getRounds: (memory) => memory.history("s", { owner: "mallory" }).getRounds(3),
  getPage: (memory) => memory.history("s", { owner: "mallory" }).getPage({ limit: 10 }),
  append: (memory) => memory.history("s", { owner: "mallory" }).append([human("mine")]),
  "a repeated turn": (memory) => memory.history("s", { owner: "mallory" }).append([human("mine")], { turnId: "t0" }),
  rewind: (memory) => memory.history("s", { owner: "mallory" }).rewind("h0"),
  clear: (memory) => memory.history("s", { owner: "mallory" }).clear(),
  rebuild: (memory) => memory.history("s", { owner: "mallory" }).rebuild(),
  fork: (memory) => memory.history("s", { owner: "mallory" }).fork("copy"),
  stats: (memory) => memory.history("s", { owner: "mallory" }).stats(),
  withTurn: (memory) => memory.withTurn("s", (history) => history.append([human("mine")]), { owner: "mallory" }),
  "sessions.get": (memory) => memory.sessions.get("s", { owner: "mallory" }),
  "sessions.update": (memory) => memory.sessions.update("s", { title: "mine" }, { owner: "mallory" }),
  "sessions.export": async (memory) => {
    for await (const line of memory.sessions.export("s", { owner: "mallory" })) {
      expect(line).not.toContain(secret);
    }
  },
  "sessions.delete": (memory) => memory.sessions.delete("s", { owner: "mallory" }),
};

interface Scene {
  readonly lost: readonly ("log" | "ids" | "state")[];
  readonly turns: number;
  readonly encrypted: boolean;
  readonly discard: boolean;
  readonly duringWrite: boolean;
  readonly intruderRebuilds: boolean;
  readonly repaired: boolean;
}

const scenes: fc.Arbitrary<Scene> = fc.record({
  lost: fc.subarray(["log", "ids", "state"] as const, { minLength: 1, maxLength: 2 }),
  turns: fc.integer({ min: 1, max: 25 }),
  encrypted: fc.boolean(),
  discard: fc.boolean(),
  duringWrite: fc.boolean(),
  intruderRebuilds: fc.boolean(),
  repaired: fc.boolean(),
});

describe("a session of which Redis lost one or two keys", () => {
  it("is neither read nor taken by another owner, and leaves nothing behind an erasure", () =>
    forAllAsync(40, scenes, play));
});

async function play(scene: Scene): Promise<void> {
  const keyPrefix = uniquePrefix();
  const shared = {
    redis: { keyPrefix },
    ...(scene.encrypted && { encryption: testKeys("k1") }),
    ...(scene.discard && { retention: "discard" as const }),
  };
  const memory = newMemory({ ...shared, ...(scene.discard && { reducer: (messages) => messages.slice(-4) }) });
  const own = memory.history("s", ginasChat);
  for (let turn = 0; turn < scene.turns; turn += 1) {
    await own.append([human(`${secret} q${turn}`, `h${turn}`), ai(`${secret} a${turn}`)], { turnId: `t${turn}` });
  }
  await memory.drain();
  await lose(scene, { keyPrefix, write: () => own.append([human(`${secret} late`)], { turnId: "late" }) });
  const other = newMemory({ ...shared, onDamage: scene.intruderRebuilds ? "rebuild" : "error" });
  for (const [name, intrude] of Object.entries(intrusions)) {
    const outcome = await intrude(other).then(
      (value) => ({ name, value }),
      (error: unknown) => ({ name, code: MemoryError.isInstance(error) ? error.code : String(error) }),
    );
    expect(["other_owner", "damaged"]).toContain((outcome as { code?: string }).code ?? JSON.stringify(outcome));
  }
  await other.drain();
  const again = newMemory({ ...shared, onDamage: "rebuild" });
  // Its data key is lost for good where both hashes are that hold it.
  const isLocked = scene.encrypted && scene.lost.includes("ids") && scene.lost.includes("state");
  if (scene.repaired && isLocked) {
    const append = again.history("s", { owner: "gina" }).append([human(`${secret} again`)]);
    await expect(append).rejects.toMatchObject({ code: "unknown_key" });
  } else if (scene.repaired) {
    await again.history("s", { owner: "gina" }).append([human(`${secret} again`)]);
    expect(texts(await again.history("s", { owner: "gina" }).getMessages())).toContain(`${secret} again`);
    // Title and metadata are lost with the state.
    const known = scene.lost.includes("state") ? { owner: "gina" } : ginasChat;
    expect(await again.sessions.get("s", { owner: "gina" })).toMatchObject(known);
    await expect(other.history("s", { owner: "mallory" }).getMessages()).rejects.toMatchObject({ code: "other_owner" });
    await again.drain();
  }
  expect(await other.sessions.deleteOwner("mallory", { unlisted: true })).toMatchObject({ sessions: 0 });
  await again.sessions.deleteOwner("gina", { unlisted: true });
  const { log, ids } = sessionKeys(keyPrefix, "s");
  const left = await storedBytes(client, keyPrefix);
  expect([...left.keys()].filter((key) => [log, ids].includes(key))).toEqual([]);
  expect([...left.values()].join()).not.toContain(secret);
}

/** Deletes the keys, at rest or while a write is on its way. */
async function lose(
  { lost, duringWrite }: Scene,
  { keyPrefix, write }: { readonly keyPrefix: string; readonly write: () => Promise<unknown> },
): Promise<void> {
  const keys = sessionKeys(keyPrefix, "s");
  const written = duringWrite ? write().catch(() => undefined) : undefined;
  await client.unlink(...lost.map((part) => keys[part]));
  await written;
}
