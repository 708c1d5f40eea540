import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { countOf } from "../../src/store/redis-lists/kinds.js";
import { RedisSessionStore, wireOf } from "../../src/store/redis-store/redis-session-store.js";
import type { ScriptRunner } from "../../src/store/redis/script-runner.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { expectTombstone } from "../support/tombstones.js";

describe("The thread of a session", () => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();
  const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
  const saver = new RedisSaver({ client, keyPrefix });

  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });
  const begin = async (threadId: string, owner?: string) => {
    await memory.history(threadId, owner === undefined ? {} : { owner }).addMessages([new HumanMessage("Hi.")]);
    await put(threadId);
  };
  const put = (threadId: string, owner?: string) => {
    const config = { configurable: { thread_id: threadId, ...(owner !== undefined && { owner }) } };
    return saver.put(config, { ...emptyCheckpoint(), id: uuid6(1) }, { source: "loop", step: 1, parents: {} }, {});
  };

  it("goes with the session that is cleared, and may begin again", async () => {
    await begin("a");
    await memory.history("a").clear();
    expect(await client.keys(`${keyPrefix}:{a}:*`)).toEqual([`${keyPrefix}:{a}:checkpoints`]);
    await expectTombstone(client, `${keyPrefix}:{a}:checkpoints`, { isCleared: true });
    await begin("a");
    expect(await saver.getTuple(at("a"))).toBeDefined();
    expect(await client.pttl(`${keyPrefix}:{a}:checkpoints`)).toBe(-1);
  });

  it("goes with the session that is deleted, and does not begin again while its tombstone stays", async () => {
    await begin("b");
    await begin("b2");
    await memory.sessions.delete("b");
    expect(await saver.getTuple(at("b"))).toBeUndefined();
    const tombstones = ["checkpoints", "run", "run:steers", "state"].map((part) => `${keyPrefix}:{b}:${part}`);
    expect((await client.keys(`${keyPrefix}:{b}:*`)).sort()).toEqual(tombstones);
    await expect(put("b")).rejects.toMatchObject({ code: "erased" });
    await saver.deleteThread("b");
    await expect(put("b")).rejects.toMatchObject({ code: "erased" });
    expect(await saver.getTuple(at("b2"))).toBeDefined();
  });

  it.each([0, 1, 2, 3])("is not counted where its tombstone expires behind read %i of its keys", async (last) => {
    const id = `expiring-${last}`;
    await begin(id);
    await memory.sessions.delete(id);
    const scan = wireOf(new RedisSessionStore({ client, keyPrefix }))!;
    let reads = 0;
    const read = async (send: () => Promise<unknown>) => {
      const reply = reads++ < last && (await send());
      await (reads >= last && client.unlink(`${keyPrefix}:{${id}}:checkpoints`));
      return reply === false ? send() : reply;
    };
    const runner = Object.assign(Object.create(scan.runner) as ScriptRunner, {
      read: (...args: Parameters<ScriptRunner["read"]>) => read(() => scan.runner.read(...args)),
      command: (...args: Parameters<ScriptRunner["command"]>) => read(() => scan.runner.command(...args)),
    });
    expect(await countOf({ ...scan, runner }, { kind: "thread", id })).toBe(0);
    expect(reads).toBe(4);
  });

  it("that has no session goes with the owner that it names", async () => {
    await put("alone", "cid");
    await put("alone too", "cid");
    await begin("of-session", "cid");
    await put("nobody's");
    await put("dan's", "dan");
    expect(await memory.sessions.deleteOwner("cid", { unlisted: true })).toMatchObject({ sessions: 3 });
    const left = ["alone", "alone too", "of-session", "nobody's", "dan's"].map(async (id) => [
      id,
      (await saver.getTuple(at(id))) !== undefined,
    ]);
    expect((await Promise.all(left)).filter(([, isLeft]) => isLeft)).toEqual([
      ["nobody's", true],
      ["dan's", true],
    ]);
  });

  it("that names nobody, or another owner, stays where a named owner deletes a session that is not there", async () => {
    await put("n");
    await put("e", "eve");
    expect(await memory.sessions.delete("n", { owner: "mallory" })).toBe(false);
    await expect(memory.sessions.delete("e", { owner: "mallory" })).rejects.toMatchObject({ code: "other_owner" });
    await put("e", "eve");
    expect(await memory.sessions.delete("e", { owner: "eve" })).toBe(true);
    expect(await memory.sessions.delete("n")).toBe(true);
    expect(await saver.getTuple(at("e"))).toBeUndefined();
  });

  it("of another owner than the session's is not taken with it", async () => {
    await memory.history("mixed", { owner: "fay" }).addMessages([new HumanMessage("Hi.")]);
    await put("mixed", "gil");
    await memory.sessions.deleteOwner("fay");
    expect(await saver.getTuple(at("mixed"))).toBeDefined();
    await memory.sessions.deleteOwner("gil", { unlisted: true });
    expect(await saver.getTuple(at("mixed"))).toBeUndefined();
  });
});
