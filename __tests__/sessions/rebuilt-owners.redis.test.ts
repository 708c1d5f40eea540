import { sessionKeys } from "../../src/store/redis/keys.js";
import { closeMemories, newMemory, texts } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const client = sharedClient();
afterEach(closeMemories);

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
