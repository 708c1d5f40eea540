import { randomBytes } from "node:crypto";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { ownerKey } from "../../src/store/redis/keys.js";
import { commandCalls } from "../support/command-calls.js";
import { human } from "../support/messages.js";
import { ownServer } from "../support/own-server.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";

const owner = "user-1";
/** Nearly as many as the hash table of a ZSET has places: 134 to 136 bytes each; up to 151 where it has just grown. */
const count = 500;

describe("the list of an owner costs", () => {
  const own = ownServer(startRedis);

  it("at most 150 bytes a session, whatever title and metadata are, also encrypted ones", async () => {
    const encryption = { current: { id: "k1", key: randomBytes(32) } };
    for (const [keyPrefix, settings] of Object.entries({ plain: {}, encrypted: { encryption } })) {
      const memory = new RedisChatMemory({ client: own.client, redis: { keyPrefix }, ...settings });
      for (let index = 0; index < count; index += 1) {
        const title = `A title that takes some bytes by itself, of session ${index}`;
        // As long as a UUID.
        const id = `b7e2c0de-0000-4000-8000-${String(index).padStart(12, "0")}`;
        await memory.history(id, { owner, title, metadata: { index } }).addMessages([human("q")]);
      }
      await memory.drain();
      const keys = await own.client.keys(`${keyPrefix}:{owner:*`);
      expect(keys).toEqual([ownerKey(keyPrefix, owner)]);
      expect(Number(await own.client.memory("USAGE", keys[0]!, "SAMPLES", 0)) / count).toBeLessThanOrEqual(150);
      await memory.close();
    }
  });

  it("a turn one command for each of its writes, sent with it, and nothing behind it", async () => {
    const turns = 20;
    const callsOf = async (identity: { owner?: string }) => {
      const memory = new RedisChatMemory({ client: own.client, redis: { keyPrefix: `turns-${identity.owner}` } });
      const chain = withRedisMemory(new FakeListChatModel({ responses: ["answer"] }), { memory });
      const turn = (index: number) =>
        chain.invoke(`question ${index}`, sessionConfig({ sessionId: "s", turnId: `t${index}`, ...identity }));
      await turn(-1);
      await memory.drain();
      await own.client.config("RESETSTAT");
      for (let index = 0; index < turns; index += 1) {
        await turn(index);
      }
      await memory.drain();
      const calls = await commandCalls(own.client);
      await memory.close();
      return calls;
    };
    const [without, owned] = [await callsOf({}), await callsOf({ owner })];
    const more = [...owned].map(([name, count]) => [name, count - (without.get(name) ?? 0)] as const);
    expect(more.filter(([, count]) => count > 0)).toEqual([["zadd", 2 * turns]]);
  });
});
