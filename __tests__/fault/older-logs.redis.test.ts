import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { forkOf, records } from "../../testing/session-store/store-case.js";
import { lookup, ToolModel } from "../support/agents.js";
import { newMemory, texts } from "../support/memories.js";
import { human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const client = sharedClient();

/** All but the last two messages become one that says their texts. */
const listed = (messages: readonly BaseMessage[]) => {
  const left = messages.slice(0, -2).map(({ text }) => text.replace(/[[\]]/g, ""));
  return [new SystemMessage(`[${left.join(" ")}]`), ...messages.slice(-2)];
};

/** Notes a session's keys and brings them back: so does a replica that becomes the master and lacks what came since. */
async function noteKeys(keyPrefix: string) {
  const { log, ids, state } = sessionKeys(keyPrefix, "ann");
  const keys = [log, ids, state];
  const dumps = await Promise.all(keys.map((key) => client.dumpBuffer(key)));
  return async () => {
    await Promise.all(keys.map((key, index) => client.restore(key, 0, dumps[index]!, "REPLACE")));
  };
}

const turn = (name: string) => [human(`q${name}`, `q${name}`), new AIMessage({ content: `a${name}`, id: `a${name}` })];

describe("a failover to an older log during a reduction", () => {
  it("leaves no summary of messages that it lost, where others have written as many", async () => {
    const keyPrefix = uniquePrefix();
    const other = newMemory({ redis: { keyPrefix } }).history("ann");
    let failOver: (() => Promise<void>) | undefined;
    const reducer = RunnableLambda.from(async (messages: BaseMessage[]) => {
      await failOver?.();
      failOver = undefined;
      return listed(messages);
    });
    const history = newMemory({ redis: { keyPrefix }, reducer, reduceWhen: "never" }).history("ann");
    await history.append([...turn("1"), ...turn("2")]);
    const bringBack = await noteKeys(keyPrefix);
    await history.append([...turn("3"), ...turn("4")]);
    failOver = async () => {
      await bringBack();
      await other.append([...turn("5"), ...turn("6")]);
    };
    await history.reduceView();
    expect(texts(await history.getMessages())).toEqual(["[q1 a1 q2 a2 q5 a5]", "q6", "a6"]);
  });

  it("leaves no summary of messages that it lost, where it came during an agent's loop", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix }, reducer: RunnableLambda.from(listed) });
    const plain = newMemory({ redis: { keyPrefix } }).history("ann");
    await plain.append([...turn("1"), ...turn("2")]);
    const bringBack = await noteKeys(keyPrefix);
    await plain.append([...turn("3"), ...turn("4")]);
    const model = new ToolModel(async () => {
      await bringBack();
      return new AIMessage({ content: "a5", id: "a5" });
    });
    const middleware = [redisMemoryMiddleware({ memory, persist: "turn" })];
    const agent = createAgent({ model, tools: [lookup], middleware });
    await agent.invoke(
      { messages: [new HumanMessage({ content: "q5", id: "q5" })] },
      { configurable: { thread_id: "ann" } },
    );
    expect(texts(await memory.history("ann").getTranscript())).toEqual(["q1", "a1", "q2", "a2", "q5", "a5"]);
    expect(texts(await memory.history("ann").getMessages())).toEqual(["[q1 a1 q2 a2]", "q5", "a5"]);
  });
});

describe("a failover to an older log while a copy is made", () => {
  it("leaves no copy of a part of each log, also where another call goes on with it", async () => {
    const keyPrefix = uniquePrefix();
    const store = new RedisSessionStore({ client, keyPrefix });
    const [first, lost, other] = [records("a", 400), records("b", 300), records("c", 300)];
    await store.append({ id: "ann" }, { records: first });
    const bringBack = await noteKeys(keyPrefix);
    await store.append({ id: "ann" }, { records: lost });
    const known = new Map([...first, ...lost, ...other].map((item) => [item.record, item]));
    const identify = (record: string) => ({ record, identity: known.get(record)! });
    const crash = new Error("The process ended.");
    const copyRecord = (record: string, position: number) => {
      if (position === 600) {
        throw crash;
      }
      return identify(record);
    };
    await expect(forkOf(store, { id: "ann" }, { id: "copy" }, { copyRecord })).rejects.toBe(crash);
    await bringBack();
    await store.append({ id: "ann" }, { records: other });
    await forkOf(store, { id: "ann" }, { id: "copy" }, { copyRecord: identify });
    const copy = await readLog(store, { id: "copy" });
    expect(copy.records).toEqual([...first, ...other].map(({ record }) => record));
    await store.close();
  });
});
