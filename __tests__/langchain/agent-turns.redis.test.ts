import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, SystemMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, piiMiddleware, providerStrategy, toolStrategy, type AgentMiddleware } from "langchain";
import { z } from "zod";
import type { MemoryEvent } from "../../src/events.js";
import { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../../src/langchain/agent.js";
import type { MemorySettings } from "../../src/memory/memory-context.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { ChatHistorySummarizationReducer } from "../../src/reducers/summary/summarization-reducer.js";
import { ChatHistoryTruncationReducer } from "../../src/reducers/truncation-reducer.js";
import { validateConversation } from "../../src/structure/validate.js";
import { lookup, lookupCall, sketch, stepsModel, ToolModel } from "../support/agents.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const open: RedisChatMemory[] = [];
const events: MemoryEvent[] = [];

function newMemory(options: MemorySettings & { readonly keyPrefix?: string } = {}): RedisChatMemory {
  const onEvent = (event: MemoryEvent) => void events.push(event);
  const memory = new RedisChatMemory({ url: sharedRedisUrl(), keyPrefix: uniquePrefix(), onEvent, ...options });
  open.push(memory);
  return memory;
}

afterEach(async () => {
  events.length = 0;
  await Promise.all(open.splice(0).map((memory) => memory.close()));
});

const ann = { configurable: { sessionId: "ann" } };
const named = (turnId: string) => ({ configurable: { sessionId: "ann", turnId } });
const transcript = async (memory: RedisChatMemory) => sketch(await memory.history("ann").getTranscript());

/** Answers with a number that counts the model's calls, after one tool step where asked to "look". */
function countingModel(): ToolModel {
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.text.startsWith("look") ? lookupCall(last.text) : `answer ${model.sent.length}`;
  });
  return model;
}

function newAgent(
  memory: RedisChatMemory,
  model: ToolModel = countingModel(),
  {
    others = [],
    ...options
  }: Partial<RedisMemoryMiddlewareOptions> & { readonly others?: readonly AgentMiddleware[] } = {},
) {
  const middleware = [redisMemoryMiddleware({ memory, ...options }), ...others];
  return { model, agent: createAgent({ model, tools: [lookup], middleware }) };
}

const ask = (text: string, id?: string) => ({
  messages: [new HumanMessage({ content: text, ...(id !== undefined && { id }) })],
});

describe.each(["step", "turn"] as const)("an agent's turn with persist: %s", (persist) => {
  it("is answered once for the same message id, with the first result", async () => {
    const memory = newMemory();
    const { agent, model } = newAgent(memory, countingModel(), { persist });
    const first = await agent.invoke(ask("look", "q1"), ann);
    const again = await agent.invoke(ask("look", "q1"), ann);
    expect(sketch(again.messages)).toEqual(sketch(first.messages));
    expect(again.messages.map(({ id }) => id)).toEqual(first.messages.map(({ id }) => id));
    expect(model.sent).toHaveLength(2);
    expect(await transcript(memory)).toEqual(["look", "<ai>", "found look", "answer 2"]);
    expect(events).toContainEqual({ type: "turn_repeated", sessionId: "ann", turnId: "q1" });
  });

  it("is answered once for the same turnId, by another instance and after reductions", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const memory = newMemory({ keyPrefix, reducer });
    const { agent } = newAgent(memory, countingModel(), { persist });
    for (let index = 1; index <= 5; index += 1) {
      await agent.invoke(ask(`q${index}`), named(`job-${index}`));
    }
    const other = newAgent(newMemory({ keyPrefix, reducer }), countingModel(), { persist });
    const again = await other.agent.invoke(ask("q1"), named("job-1"));
    expect(sketch(again.messages)).toEqual(["q1", "answer 1"]);
    expect(other.model.sent).toHaveLength(0);
    expect(await transcript(memory)).toHaveLength(10);
  });

  it("is stored once where two instances answer it at the same time, and both give the stored answer", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ keyPrefix });
    const slow = (text: string, ms: number) =>
      new ToolModel(async () => {
        await new Promise((resolve) => setTimeout(resolve, ms));
        return text;
      });
    const agents = [slow("fast", 20), slow("slow", 120)].map(
      (model) => newAgent(newMemory({ keyPrefix }), model, { persist }).agent,
    );
    const results = await Promise.all(agents.map((agent) => agent.invoke(ask("q", "q1"), ann)));
    expect(results.map(({ messages }) => sketch(messages))).toEqual([
      ["q", "fast"],
      ["q", "fast"],
    ]);
    expect(await transcript(memory)).toEqual(["q", "fast"]);
  });

  it("stores only what is new of a client's whole history, with ids or without, and after reductions", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4 });
    const memory = newMemory({ reducer });
    const { agent, model } = newAgent(memory, countingModel(), { persist });
    const client: BaseMessage[] = [];
    for (let index = 1; index <= 6; index += 1) {
      client.push(new HumanMessage({ content: `q${index}`, id: `q${index}` }));
      const { messages } = await agent.invoke({ messages: client }, ann);
      client.push(messages.at(-1)!);
    }
    expect(sketch(model.sent.at(-1)!)).toEqual(["q4", "answer 4", "q5", "answer 5", "q6"]);
    const plain = [...client, human("q7")].map(({ text }, index) => ({
      role: index % 2 === 0 ? "user" : "assistant",
      content: text,
    }));
    await agent.invoke({ messages: plain }, ann);
    expect(sketch(model.sent.at(-1)!).at(-1)).toBe("q7");
    expect(sketch(model.sent.at(-1)!).length).toBeLessThanOrEqual(5);
    expect(await transcript(memory)).toHaveLength(14);
  });

  it("takes the answer of a second writer into the next view and keeps both turns", async () => {
    const memory = newMemory();
    const model = new ToolModel(async (messages) => {
      await memory.history("ann").append([human("other"), ai("theirs")]);
      return `mine after ${messages.length}`;
    });
    const { agent } = newAgent(memory, model, { persist });
    await agent.invoke(ask("q"), ann);
    expect((await transcript(memory)).toSorted()).toEqual(["mine after 1", "other", "q", "theirs"]);
  });

  it("shows system messages that come with each turn at the front, once", async () => {
    const memory = newMemory();
    const { agent, model } = newAgent(memory, countingModel(), { persist, profile: "anthropic" });
    for (const text of ["one", "two"]) {
      await agent.invoke({ messages: [new SystemMessage("Be kind."), new HumanMessage(text)] }, ann);
    }
    expect(sketch(model.sent[1]!)).toEqual(["Be kind.", "one", "answer 1", "two"]);
    expect(await transcript(memory)).toEqual(["Be kind.", "one", "answer 1", "two", "answer 2"]);
  });

  it("shows a stored greeting as the profile needs it, and reports the repair once", async () => {
    const memory = newMemory();
    await memory.history("ann").append([ai("Hello!")]);
    const { agent, model } = newAgent(memory, countingModel(), { persist, profile: "anthropic" });
    await agent.invoke(ask("look"), ann);
    expect(model.sent[0]![0]!.getType()).toBe("human");
    expect(events.filter(({ type }) => type === "repaired")).toHaveLength(1);
    expect((await transcript(memory))[0]).toBe("Hello!");
  });

  it("stores what piiMiddleware made of it, and the run does not fail", async () => {
    const memory = newMemory();
    const others = [piiMiddleware("email", { strategy: "redact", applyToInput: true })] as AgentMiddleware[];
    const { agent, model } = newAgent(memory, countingModel(), { persist, others });
    await agent.invoke(ask("mail me at ann@example.org"), ann);
    expect(JSON.stringify(await memory.history("ann").getTranscript())).not.toContain("ann@");
    expect(JSON.stringify(model.sent)).not.toContain("ann@");
  });

  it.each([
    ["tool", toolStrategy(z.object({ city: z.string() }))],
    ["provider", providerStrategy(z.object({ city: z.string() }))],
  ] as const)(
    "stores a structured answer by the %s strategy, valid for the next turn",
    async (kind, responseFormat) => {
      const memory = newMemory();
      const model = new ToolModel((messages) => {
        const name = (responseFormat as unknown as { name?: string }[])[0]?.name ?? "";
        void messages;
        return kind === "provider"
          ? new AIMessage({ content: '{"city":"Bonn"}', id: `s${model.sent.length}` })
          : new AIMessage({
              content: "",
              id: `s${model.sent.length}`,
              tool_calls: [{ id: `c${model.sent.length}`, name, args: { city: "Bonn" }, type: "tool_call" }],
            });
      });
      const middleware = [redisMemoryMiddleware({ memory, persist })];
      const agent = createAgent({ model, tools: [], middleware, responseFormat: responseFormat as never });
      const { structuredResponse } = (await agent.invoke(ask("where?"), ann)) as { structuredResponse: unknown };
      expect(structuredResponse).toEqual({ city: "Bonn" });
      await agent.invoke(ask("and now?"), ann);
      expect(model.sent).toHaveLength(2);
      expect(await transcript(memory)).toHaveLength(kind === "provider" ? 4 : 8);
    },
  );
});

describe("an agent's turn whose run fails", () => {
  it("goes on from its finished steps with persist: step, for the same message id or turnId", async () => {
    for (const [input, config] of [
      [ask("look", "q1"), ann],
      [ask("look"), named("job-1")],
    ] as const) {
      const memory = newMemory();
      let isDown = true;
      const model = new ToolModel((messages) => {
        const isFirst = messages.at(-1)!.getType() === "human";
        return isFirst ? lookupCall("it") : isDown ? new Error("model is down") : "at last";
      });
      const { agent } = newAgent(memory, model);
      await expect(agent.invoke(input, config)).rejects.toThrow("model is down");
      expect(await transcript(memory)).toEqual(["look", "<ai>", "found it"]);
      isDown = false;
      const { messages } = await agent.invoke(input, config);
      expect(sketch(messages)).toEqual(["look", "<ai>", "found it", "at last"]);
      expect(model.sent).toHaveLength(3);
      expect(await transcript(memory)).toEqual(["look", "<ai>", "found it", "at last"]);
    }
  });

  it("leaves nothing with persist: turn", async () => {
    const memory = newMemory();
    const { agent } = newAgent(memory, new ToolModel(() => new Error("model is down")), { persist: "turn" });
    await expect(agent.invoke(ask("q", "q1"), ann)).rejects.toThrow("model is down");
    expect(await transcript(memory)).toEqual([]);
  });
});

describe("an agent beside a checkpointer", () => {
  const thread = { configurable: { thread_id: "ann" } };

  it("sends and stores nothing twice, also after reductions, clear() and rewind()", async () => {
    const memory = newMemory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 4 }) });
    const model = countingModel();
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    for (let index = 1; index <= 5; index += 1) {
      await agent.invoke(ask(`q${index}`), thread);
    }
    expect(sketch(model.sent.at(-1)!)).toEqual(["q3", "answer 3", "q4", "answer 4", "q5"]);
    expect(await transcript(memory)).toHaveLength(10);
    await memory.history("ann").clear();
    await agent.invoke(ask("q6"), thread);
    expect(sketch(model.sent.at(-1)!)).toEqual(["q6"]);
    expect(await transcript(memory)).toEqual(["q6", "answer 6"]);
    await memory.history("ann").rewind((await memory.history("ann").getTranscript())[0]!.id!);
    await agent.invoke(ask("q7"), thread);
    expect(await transcript(memory)).toEqual(["q7", "answer 7"]);
  });

  it("gives copies of a stored answer where the state holds it before the new question", async () => {
    const memory = newMemory();
    const middleware = [redisMemoryMiddleware({ memory })];
    const model = countingModel();
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    const config = { configurable: { thread_id: "ann", turnId: "job-1" } };
    await agent.invoke(ask("q"), config);
    const { messages } = await agent.invoke(ask("q"), config);
    expect(sketch(messages)).toEqual(["q", "answer 1", "q", "answer 1"]);
    expect(model.sent).toHaveLength(1);
    expect(await transcript(memory)).toEqual(["q", "answer 1"]);
  });
});

describe("an agent's streams and state", () => {
  it("show no history and no field of the memory, in any mode", async () => {
    const memory = newMemory();
    await memory.history("ann").append([human("earlier"), ai("long ago")]);
    const { agent, model } = newAgent(memory);
    const streamMode = ["values", "updates", "messages", "debug", "tasks", "checkpoints"] as never;
    const chunks: unknown[] = [];
    for await (const chunk of await agent.stream(ask("look"), { ...ann, streamMode })) {
      chunks.push(chunk);
    }
    expect(sketch(model.sent[0]!)).toEqual(["earlier", "long ago", "look"]);
    expect(JSON.stringify(chunks)).not.toMatch(/earlier|long ago|_memory/);
  });

  it("do not grow with the session", async () => {
    const memory = newMemory();
    const { agent } = newAgent(memory, new ToolModel(() => new AIMessage({ content: "fine", id: randomUUID() })));
    const sizes: number[] = [];
    for (let turn = 0; turn < 10; turn += 1) {
      const updates: unknown[] = [];
      for await (const update of await agent.stream(ask("how?"), { ...ann, streamMode: "updates" })) {
        updates.push(update);
      }
      sizes.push(JSON.stringify(updates).length);
    }
    expect(new Set(sizes).size).toBe(1);
  });

  it("hold with a checkpointer only what the runs brought", async () => {
    const memory = newMemory();
    await memory.history("ann").append([human("earlier"), ai("long ago")]);
    const middleware = [redisMemoryMiddleware({ memory })];
    const model = countingModel();
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: "ann" } };
    await agent.invoke(ask("look"), thread);
    const { values } = (await agent.graph.getState(thread)) as { values: Record<string, unknown> };
    expect(Object.keys(values)).toEqual(["messages"]);
    expect(sketch(values["messages"] as BaseMessage[])).toEqual(["look", "<ai>", "found look", "answer 2"]);
  });
});

describe("a long loop of an agent", () => {
  it.each(["step", "turn"] as const)(
    "stays within the reducer's limit, and pays for each summary once (persist: %s)",
    async (persist) => {
      const summaries = new ToolModel(() => `summary ${summaries.sent.length}`);
      const options = { model: summaries, targetCount: 6, thresholdCount: 4 };
      const memory = newMemory({ reducer: new ChatHistorySummarizationReducer(options) });
      const { agent, model } = newAgent(memory, stepsModel(12), { persist });
      const { messages } = await agent.invoke(ask("go"), { ...ann, recursionLimit: 60 });
      expect(messages).toHaveLength(26);
      expect(Math.max(...model.sent.map(({ length }) => length))).toBeLessThanOrEqual(10);
      for (const sent of model.sent) {
        const issues = validateConversation(sent, { profile: "openai" });
        expect(issues.filter(({ severity }) => severity === "error")).toEqual([]);
      }
      expect(summaries.sent).toHaveLength(4);
      expect(await transcript(memory)).toHaveLength(26);
      const view = await memory.history("ann").getMessages();
      expect(sketch(view).at(-1)).toBe("done");
      // The summary does not count in the target.
      expect(view.length).toBeLessThanOrEqual(11);
      expect(sketch(view).join()).toContain("summary 4");
    },
  );
});
