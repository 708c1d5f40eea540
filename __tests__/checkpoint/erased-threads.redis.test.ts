import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

describe("The thread of a session", () => {
  const client = sharedClient();
  const keyPrefix = uniquePrefix();
  const memory = new RedisChatMemory({ client, redis: { keyPrefix } });
  const saver = new RedisSaver({ client, keyPrefix });

  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });
  const begin = async (threadId: string, owner?: string) => {
    await memory.history(threadId, owner === undefined ? {} : { owner }).addMessages([new HumanMessage("Hi.")]);
    await saver.put(at(threadId), { ...emptyCheckpoint(), id: uuid6(1) }, { source: "loop", step: 1, parents: {} }, {});
  };

  it("goes with the session that is deleted, and stays where only messages are cleared", async () => {
    await begin("a");
    await begin("a2");
    await memory.history("a").clear();
    expect(await saver.getTuple(at("a"))).toBeDefined();
    await memory.sessions.delete("a");
    expect(await saver.getTuple(at("a"))).toBeUndefined();
    expect(await client.keys(`${keyPrefix}:{a}:*`)).toEqual([`${keyPrefix}:{a}:state`]);
    expect(await saver.getTuple(at("a2"))).toBeDefined();
  });

  it("goes with the owner that is erased, and others' threads stay", async () => {
    await begin("ann-1", "ann");
    await begin("ann-2", "ann");
    await begin("bob-1", "bob");
    await memory.sessions.deleteOwner("ann");
    expect(await saver.getTuple(at("ann-1"))).toBeUndefined();
    expect(await saver.getTuple(at("ann-2"))).toBeUndefined();
    expect(await saver.getTuple(at("bob-1"))).toBeDefined();
  });
});
