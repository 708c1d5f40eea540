import { AIMessage, HumanMessage, type BaseMessage, type ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createAgent, createMiddleware, humanInTheLoopMiddleware } from "langchain";
import { providerStrategy, toolStrategy } from "langchain";
import type { AgentMiddleware } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../../src/doors/agent/middleware.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { lookup, lookupCall, sketch, stepsModel, ToolModel } from "../support/agents.js";
import { newMemory } from "../support/memories.js";
import { ai, human } from "../support/messages.js";
import { uniquePrefix } from "../support/shared-redis.js";

const ann = { configurable: { sessionId: "ann" } };
const transcript = async (memory: RedisChatMemory) => sketch(await memory.history("ann").getTranscript());
const ask = (text: string, id?: string) => ({ messages: [human(text, id)] });

function agentOf(
  memory: RedisChatMemory,
  model: ToolModel,
  { others = [], ...options }: Partial<RedisMemoryMiddlewareOptions> & { others?: readonly AgentMiddleware[] } = {},
) {
  return createAgent({
    ...{ model, tools: [lookup] },
    middleware: [redisMemoryMiddleware({ memory, ...options }), ...others],
  });
}

const answering = (): ToolModel => {
  const model: ToolModel = new ToolModel(() => `answer ${model.sent.length}`);
  return model;
};

describe("a structured response", () => {
  const city = z.object({ city: z.string(), size: z.number().default(1) });
  const plain = { title: "City", type: "object", properties: { city: { type: "string" }, size: { type: "number" } } };
  const formats = [
    ["the tool strategy", "call", toolStrategy(city)],
    ["the provider strategy", "text", providerStrategy(city)],
    ["a zod schema", "call", city],
    ["a zod schema with a title", "call", city.meta({ title: "Town" })],
    ["a JSON schema with a title", "call", plain],
    ["one of several schemas", "call", [city, z.object({ other: z.string() }), city]],
    ["a zod schema and a model that answers in JSON", "text", city],
  ] as const;

  it.each(
    formats.flatMap(([name, ...rest]) => (["step", "turn"] as const).map((door) => [name, door, ...rest] as const)),
  )("comes back with a repeated turn, by %s (persist: %s)", async (_, persist, kind, responseFormat) => {
    const memory = newMemory();
    const model: ToolModel = new ToolModel((sent) => {
      const id = `s${model.sent.length}`;
      const call = { id: `c${id}`, name: model.lastTool, args: { city: "Bonn", size: 3 }, type: "tool_call" as const };
      const isLooked = sent.at(-1)!.getType() === "tool";
      if (!isLooked) {
        return lookupCall("Bonn");
      }
      return kind === "text"
        ? new AIMessage({ content: '{"city":"Bonn","size":3}', id })
        : new AIMessage({ content: "", id, tool_calls: [call] });
    });
    Object.defineProperty(model, "profile", { value: { structuredOutput: kind === "text" } });
    const middleware = [redisMemoryMiddleware({ memory, persist })];
    const agent = createAgent({ model, tools: [lookup], middleware, responseFormat: responseFormat as never });
    const run = () => agent.invoke(ask("where?", "q1"), ann) as Promise<{ structuredResponse?: unknown }>;
    const first = await run();
    const again = await run();
    expect(first.structuredResponse).toEqual({ city: "Bonn", size: 3 });
    expect(again.structuredResponse).toEqual(first.structuredResponse);
    expect(sketchOf(again)).toEqual(sketchOf(first));
    expect(model.sent).toHaveLength(2);
  });

  it("is that of the stored answer where two runs of a turn end at the same time", async () => {
    const keyPrefix = uniquePrefix();
    let [asked, release] = [0, () => undefined as void];
    const bothAsked = new Promise<void>((resolve) => (release = resolve));
    const agents = ["Bonn", "Rome"].map((name) => {
      const model = new ToolModel(async () => {
        asked += 1;
        await (asked === 2 ? release() : bothAsked);
        return new AIMessage({ content: JSON.stringify({ city: name, size: 3 }), id: name });
      });
      const middleware = [
        redisMemoryMiddleware({ memory: newMemory({ redis: { keyPrefix } }), oneTurnAtATime: false }),
      ];
      return createAgent({ model, tools: [], middleware, responseFormat: providerStrategy(city) });
    });
    const results = await Promise.all(agents.map((agent) => agent.invoke(ask("where?", "q1"), ann)));
    const stored = (await newMemory({ redis: { keyPrefix } }).history("ann").getTranscript()).at(-1)!.text;
    for (const { messages, structuredResponse } of results) {
      expect([messages.at(-1)!.text, JSON.stringify(structuredResponse)]).toEqual([stored, stored]);
    }
  });

  const sketchOf = (result: unknown) => sketch((result as { messages: BaseMessage[] }).messages);
});

describe("a repeated turn of an agent", () => {
  it("is shown whole, in order and once, in every mode of its stream", async () => {
    const memory = newMemory();
    const agent = agentOf(memory, stepsModel(1));
    await agent.invoke(ask("go", "q1"), ann);
    const shown: string[] = [];
    for await (const [message] of await agent.stream(ask("go", "q1"), { ...ann, streamMode: "messages" })) {
      shown.push((message as BaseMessage).getType());
    }
    expect(shown).toEqual(["ai", "tool", "ai"]);
    const values: string[][] = [];
    for await (const { messages } of await agent.stream(ask("go", "q1"), { ...ann, streamMode: "values" })) {
      values.push(sketch(messages));
    }
    expect(values.at(-1)).toEqual(["go", "<ai>", "found step 1", "done"]);
    expect(await transcript(memory)).toHaveLength(4);
  });

  it("is known by what is stored where another middleware adds a message of its own to the state", async () => {
    const memory = newMemory();
    const model = answering();
    const adding = createMiddleware({
      name: "Adding",
      beforeAgent: () => ({ messages: [new HumanMessage("It is Monday.")] }),
    });
    const agent = agentOf(memory, model, { others: [adding] });
    await agent.invoke(ask("q", "q1"), ann);
    await agent.invoke(ask("q", "q1"), ann);
    expect(model.sent.map(sketch)).toEqual([["q", "It is Monday."]]);
    expect(await transcript(memory)).toEqual(["q", "It is Monday.", "answer 1"]);
  });

  it("asks again for a tool that returns directly and needs approval, and runs neither model nor tool", async () => {
    const memory = newMemory();
    let runs = 0;
    const direct = tool(({ query }: { query: string }) => `found ${query} ${(runs += 1)}`, {
      ...{ name: "lookup", schema: z.object({ query: z.string() }), returnDirect: true },
    });
    const model = new ToolModel(() => lookupCall("it"));
    const approval = humanInTheLoopMiddleware({ interruptOn: { lookup: true } });
    const middleware = [redisMemoryMiddleware({ memory }), approval] as AgentMiddleware[];
    for (let run = 1; run <= 2; run += 1) {
      const agent = createAgent({ model, tools: [direct], middleware, checkpointer: new MemorySaver() });
      const thread = { configurable: { thread_id: "ann" } };
      expect(await agent.invoke(ask("go", "q1"), thread)).toHaveProperty("__interrupt__");
      const approve = new Command({ resume: { decisions: [{ type: "approve" }] } });
      const { messages } = await agent.invoke(approve, thread);
      expect(sketch(messages)).toEqual(["go", "<ai>", "found it 1"]);
    }
    expect([runs, model.sent.length]).toEqual([1, 1]);
    expect(await transcript(memory)).toEqual(["go", "<ai>", "found it 1"]);
  });
});

describe("what an agent stores", () => {
  it("holds the results of parallel tools in the order of their calls, each once", async () => {
    const memory = newMemory();
    const slow = tool(
      async ({ query }: { query: string }) => {
        await new Promise((resolve) => setTimeout(resolve, query === "c1" ? 30 : 1));
        return `found ${query}`;
      },
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    const model = new ToolModel((sent) =>
      sent.at(-1)!.getType() === "tool" ? "done" : ai("", { calls: ["c1", "c2", "c3"], id: "calls" }),
    );
    const agent = createAgent({ model, tools: [slow], middleware: [redisMemoryMiddleware({ memory })] });
    await agent.invoke(ask("go"), ann);
    const stored = await memory.history("ann").getTranscript();
    expect(sketch(stored)).toEqual(["go", "<ai>", "found c1", "found c2", "found c3", "done"]);
    expect(stored.slice(2, 5).map((message) => (message as ToolMessage).tool_call_id)).toEqual(["c1", "c2", "c3"]);
  });

  it("is the same where agent.graph is a node of another graph", async () => {
    const memory = newMemory();
    const model = answering();
    const agent = agentOf(memory, model);
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("agent", agent.graph as never)
      .addEdge("__start__", "agent" as never)
      .addEdge("agent" as never, "__end__")
      .compile();
    await graph.invoke(ask("one", "q1"), ann);
    const { messages } = (await graph.invoke(ask("two", "q2"), ann)) as { messages: BaseMessage[] };
    expect(sketch(messages)).toEqual(["two", "answer 2"]);
    expect(sketch(model.sent[1]!)).toEqual(["one", "answer 1", "two"]);
    const again = (await graph.invoke(ask("two", "q2"), ann)) as { messages: BaseMessage[] };
    expect(sketch(again.messages)).toEqual(["two", "answer 2"]);
    expect(await transcript(memory)).toEqual(["one", "answer 1", "two", "answer 2"]);
  });
});
