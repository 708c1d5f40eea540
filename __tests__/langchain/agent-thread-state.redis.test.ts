import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Command, type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware, type AgentMiddleware } from "langchain";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { threadKeys } from "../../src/store/redis/keys.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";

const thread = { configurable: { thread_id: "ann" } };
const approve = new Command({ resume: { decisions: [{ type: "approve" }] } });

/** An agent that looks up what begins with "look", and asks for approval where it may. */
function newAgent(checkpointer: BaseCheckpointSaver, { isApproved = false } = {}) {
  const memory = newMemory();
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.text.startsWith("look") ? lookupCall(last.text) : new AIMessage(`answer ${model.sent.length}`);
  });
  const approval = humanInTheLoopMiddleware({ interruptOn: { lookup: true } });
  const middleware = [redisMemoryMiddleware({ memory }), ...(isApproved ? [approval] : [])] as AgentMiddleware[];
  const agent = createAgent({ model, tools: [lookup], middleware, checkpointer });
  const state = async () =>
    sketch(((await agent.graph.getState(thread)).values as { messages: BaseMessage[] }).messages);
  const ask = (text: string) => ({ messages: [new HumanMessage(text)] });
  return { agent, ask, model, state, transcript: async () => sketch(await memory.history("ann").getTranscript()) };
}

describe("A thread beside the memory", () => {
  const client = sharedClient();
  afterEach(closeMemories);

  it.each(["sync", "async", "exit"] as const)("holds the last run only (%s)", async (durability) => {
    const { agent, ask, model, state, transcript } = newAgent(new MemorySaver());
    for (const text of ["look 1", "two", "look 3"]) {
      const { messages } = await agent.invoke(ask(text), { ...thread, durability });
      expect(messages[0]!.text).toBe(text);
    }
    const run = (name: string) => [name, "<ai>", `found ${name}`];
    expect(await state()).toEqual([...run("look 3"), "answer 5"]);
    expect(await transcript()).toEqual([...run("look 1"), "answer 2", "two", "answer 3", ...run("look 3"), "answer 5"]);
    expect(sketch(model.sent.at(-1)!)).toEqual((await transcript()).slice(0, -1));
  });

  it("holds no earlier run while one waits for a human", async () => {
    const { agent, ask, state, transcript } = newAgent(new MemorySaver(), { isApproved: true });
    await agent.invoke(ask("one"), thread);
    expect(await agent.invoke(ask("look 2"), thread)).toHaveProperty("__interrupt__");
    expect(await state()).toEqual(["look 2", "<ai>"]);
    const { messages } = await agent.invoke(approve, thread);
    expect(sketch(messages)).toEqual(["look 2", "<ai>", "found look 2", "answer 3"]);
    expect(await state()).toEqual(sketch(messages));
    expect(await transcript()).toEqual(["one", "answer 1", ...sketch(messages)]);
  });

  it("shows a page nothing of it: no removal among the streamed messages", async () => {
    const { agent, ask } = newAgent(new MemorySaver());
    await agent.invoke(ask("one"), thread);
    const types = new Set<string>();
    for await (const [message] of await agent.stream(ask("look 2"), { ...thread, streamMode: "messages" })) {
      types.add(message.getType());
    }
    expect([...types].sort()).toEqual(["ai", "tool"]);
  });

  it("does not grow with the conversation: RedisSaver holds a run", async () => {
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix, keep: 2 });
    const { agent, ask, transcript } = newAgent(saver);
    const items: number[] = [];
    for (let turn = 0; turn < 30; turn += 1) {
      await agent.invoke(ask(`look ${turn} ${"and on ".repeat(40)}`), { ...thread, durability: "sync" });
      items.push(await client.llen(threadKeys(keyPrefix, "ann").items));
    }
    expect(await transcript()).toHaveLength(120);
    // The run, those of the checkpoints that stay until old ones are dropped, and nothing older.
    expect(Math.max(...items)).toBeLessThan(30);
  });
});
