import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { HumanMessage } from "@langchain/core/messages";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { ownerKey, sessionKeys, threadKeys } from "../../src/store/redis/keys.js";
import { decodeSessionId, encodeSessionId } from "../../src/store/contract/session-ref.js";
import { newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const client = sharedClient();

/** Names that an encoded id never has: half an escape, bytes that are no UTF-8, an escape without need, none. */
const foreign = ["%", "%zz", "%FF", "%41", "a/b", ""];

describe("A key that only looks like one of a session", () => {
  it("has no session id", () => {
    expect(foreign.map(decodeSessionId)).toEqual(foreign.map(() => undefined));
    for (const id of ["chat-7", "a/b", "€ %41", "*'()!"]) {
      expect(decodeSessionId(encodeSessionId(id))).toBe(id);
    }
  });

  it("stops no scan of sessions, and no erasure of an owner", async () => {
    const redis = { keyPrefix: uniquePrefix() };
    const memory = newMemory({ redis });
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage("Oslo")]);
    await memory.drain();
    for (const name of foreign) {
      const part = (end: string) => `${redis.keyPrefix}:{${name}}:${end}`;
      await client.hset(part("state"), "epoch", "e", "next", 1);
      await client.rpush(part("log"), "{}");
      await client.zadd(`${redis.keyPrefix}:{owner:${name}}:sessions`, 1, "s");
    }
    const { sessions } = await memory.sessions.search({ text: "oslo" });
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s"]);
    expect(await memory.sessions.reindex()).toBe(1);
    expect(await memory.sessions.deleteOwner("ann", { unlisted: true })).toMatchObject({ sessions: 1 });
  });

  it("stops no list of threads", async () => {
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix });
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    await saver.put(config, { ...emptyCheckpoint(), id: uuid6(1) }, { source: "loop", step: 1, parents: {} }, {});
    for (const name of foreign) {
      await client.zadd(`${keyPrefix}:{${name}}:order`, 0, "");
    }
    const found = await all(saver.list({}));
    expect(found.map((tuple) => tuple.config.configurable?.["thread_id"])).toEqual(["t"]);
  });
});

describe("A field that only looks like one of ours", () => {
  it("is left out of an owner's list", async () => {
    const redis = { keyPrefix: uniquePrefix() };
    const memory = newMemory({ redis });
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage("Oslo")]);
    await memory.drain();
    const key = ownerKey(redis.keyPrefix, "ann");
    await client.zadd(key, (await client.zscore(key, "s"))!, "%zz");
    const { sessions } = await memory.sessions.list({ owner: "ann" });
    expect(sessions.map(({ sessionId }) => sessionId)).toEqual(["s"]);
    expect(await memory.sessions.deleteOwner("ann")).toMatchObject({ sessions: 1 });
  });

  it("is left out of a session's reductions", async () => {
    const redis = { keyPrefix: uniquePrefix() };
    const memory = newMemory({ redis });
    await memory.history("s").addMessages([new HumanMessage("Oslo")]);
    const known = '{"at":1,"start":0,"head":0,"before":{"messages":1},"after":{"messages":1}}';
    await client.hset(sessionKeys(redis.keyPrefix, "s").state, "reductions", `{\nnull\n{"at":1}\n${known}`);
    expect(await memory.history("s").getReductions()).toEqual([JSON.parse(known)]);
  });

  it("makes a checkpoint unreadable by a typed error", async () => {
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix });
    const config = { configurable: { thread_id: "t", checkpoint_ns: "" } };
    const id = uuid6(1);
    await saver.put(config, { ...emptyCheckpoint(), id }, { source: "loop", step: 1, parents: {} }, {});
    const { checkpoints } = threadKeys(keyPrefix, "t");
    const own = (await client.hkeys(checkpoints)).find((field) => field.endsWith(id));
    const values = [
      '{"lc":1,"type":"constructor","id":["x"],"kwargs":{}}',
      '{"$lcmem":null}',
      '{"$lcmem":{"t":"z","v":1}}',
    ];
    for (const value of values) {
      await client.hset(checkpoints, own!, `0|||\u0000{"c":{},"d":{"a":${value}},"m":{}}`);
      await expect(saver.getTuple(config)).rejects.toMatchObject({ name: "RecordError", code: "corrupt" });
    }
  });
});
