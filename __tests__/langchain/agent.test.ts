import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool as makeTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { z } from "zod";
import { StructureError } from "../../src/base/errors.js";
import { redisMemoryMiddleware, type AgentRuntime } from "../../src/entries/agent.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { aiCalls, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";

/** A scripted model that an agent can bind tools to. */
class ToolModel extends ScriptedModel {
  override bindTools(): this {
    return this;
  }
}

const lookup = makeTool(({ query }: { query: string }) => `found ${query}`, {
  name: "lookup",
  schema: z.object({ query: z.string() }),
});
const ann = { configurable: { sessionId: "ann" } };

/** Looks something up once for each human message, then answers. */
function searchingModel(): ToolModel {
  return new ToolModel((messages) => {
    const last = messages.at(-1)!;
    const place = `${messages.length}`;
    return last.getType() === "human"
      ? new AIMessage({
          content: "",
          id: `call-${last.text}-${place}`,
          tool_calls: [{ id: `c-${last.text}`, name: "lookup", args: { query: last.text } }],
        })
      : new AIMessage({ content: `answer after ${last.text}`, id: `answer-${last.text}` });
  });
}

function newMemory() {
  const store = new InMemorySessionStore();
  const memory = new RedisChatMemory({ store });
  const kinds = async () =>
    (await memory.history("ann").getTranscript()).map((message: BaseMessage) => message.getType());
  return { store, memory, kinds };
}

describe("redisMemoryMiddleware", () => {
  it("passes the session's view to an agent and stores whole turns, including tool steps", async () => {
    const { memory, kinds } = newMemory();
    const model = searchingModel();
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    await agent.invoke({ messages: [new HumanMessage("one")] }, ann);
    const result = await agent.invoke({ messages: [new HumanMessage("two")] }, ann);
    expect(result.messages.at(-1)!.text).toBe("answer after found two");
    expect(model.sent[2]!.map((message) => message.getType())).toEqual(["human", "ai", "tool", "ai", "human"]);
    expect(await kinds()).toEqual(["human", "ai", "tool", "ai", "human", "ai", "tool", "ai"]);
  });

  it("keeps the steps of a request whole where the application's reducer splits one, and reports it", async () => {
    const failures: unknown[] = [];
    const memory = new RedisChatMemory({
      store: new InMemorySessionStore(),
      reducer: (messages: BaseMessage[]) =>
        messages.length < 3 ? null : messages.filter((message) => message.getType() !== "tool"),
      onEvent: (event) => event.type === "reduction_failed" && failures.push(event.error),
    });
    const model = searchingModel();
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    const result = await agent.invoke({ messages: [new HumanMessage("one")] }, ann);
    expect(model.sent[1]!.map((message) => message.getType())).toEqual(["human", "ai", "tool"]);
    expect(result.messages.at(-1)!.text).toBe("answer after found one");
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.every((error) => StructureError.isInstance(error))).toBe(true);
  });

  it("shows the reduced view and never stores loaded messages again", async () => {
    const { store, kinds } = newMemory();
    const memory = new RedisChatMemory({ store, reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }) });
    const model = searchingModel();
    const agent = createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] });
    for (const text of ["one", "two", "three"]) {
      await agent.invoke({ messages: [new HumanMessage(text)] }, ann);
    }
    expect(model.sent[4]!.map(({ text }) => text)).toEqual(["two", "", "found two", "answer after found two", "three"]);
    expect(await kinds()).toHaveLength(12);
  });

  it("gives the function that names the session what the agent was invoked with", async () => {
    const { memory, kinds } = newMemory();
    const sessionId = ({ configurable, context }: AgentRuntime) =>
      configurable?.["tenant"] === "a" ? (context as { user: string }).user : undefined;
    const middleware = [redisMemoryMiddleware({ memory, sessionId, persist: "step" })];
    const agent = createAgent({ model: searchingModel(), tools: [lookup], middleware });
    const run = { configurable: { tenant: "a" }, context: { user: "ann" } };
    await agent.invoke({ messages: [new HumanMessage("one")] }, run);
    expect(await kinds()).toEqual(["human", "ai", "tool", "ai"]);
  });

  it("loads nothing twice beside a checkpointer, and finds the session by its thread_id", async () => {
    const { memory } = newMemory();
    const model = searchingModel();
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    await agent.invoke({ messages: [new HumanMessage("one")] }, { configurable: { thread_id: "ann" } });
    await agent.invoke({ messages: [new HumanMessage("two")] }, { configurable: { thread_id: "ann" } });
    expect(model.sent[2]!.map(({ text }) => text)).toEqual(["one", "", "found one", "answer after found one", "two"]);
    expect(await memory.history("ann").getTranscript()).toHaveLength(8);
  });

  it("stores nothing of a run that fails, or with persist: step what came before the failure", async () => {
    const failing = new ToolModel(() => new Error("model is down"));
    for (const [persist, expected] of [
      ["turn", []],
      ["step", ["human"]],
    ] as const) {
      const { memory, kinds } = newMemory();
      const agent = createAgent({
        model: failing,
        tools: [lookup],
        middleware: [redisMemoryMiddleware({ memory, persist })],
      });
      await expect(agent.invoke({ messages: [new HumanMessage("one")] }, ann)).rejects.toThrow("model is down");
      expect(await kinds()).toEqual(expected);
    }
  });

  it("rejects if the turn could not be stored", async () => {
    const { store, memory } = newMemory();
    store.append = () => Promise.reject(new Error("no space"));
    const agent = createAgent({
      model: searchingModel(),
      tools: [lookup],
      middleware: [redisMemoryMiddleware({ memory })],
    });
    await expect(agent.invoke({ messages: [new HumanMessage("one")] }, ann)).rejects.toThrow("no space");
  });

  it("repairs an interrupted tool call for the model, and stores it unchanged", async () => {
    const { memory, kinds } = newMemory();
    await memory.history("ann").addMessages([human("go"), aiCalls("c1")]);
    const model = new ToolModel(() => new AIMessage({ content: "here", id: "here" }));
    await createAgent({ model, tools: [lookup], middleware: [redisMemoryMiddleware({ memory })] }).invoke(
      { messages: [human("still there?")] },
      ann,
    );
    expect(model.sent[0]!.map((message) => message.getType())).toEqual(["human", "ai", "tool", "human"]);
    expect(await kinds()).toEqual(["human", "ai", "human", "ai"]);
  });

  it("says what to do if the run names no session", async () => {
    const { memory } = newMemory();
    const agent = createAgent({
      model: searchingModel(),
      tools: [lookup],
      middleware: [redisMemoryMiddleware({ memory })],
    });
    await expect(agent.invoke({ messages: [human("one")] })).rejects.toMatchObject({ option: "sessionId" });
    expect(() => redisMemoryMiddleware({ memory: {} as never })).toThrow(expect.objectContaining({ option: "memory" }));
  });
});
