import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { createAgent, toolStrategy } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { lookup, sketch, stepsModel, ToolModel } from "../support/agents.js";
import { human } from "../support/messages.js";

const ann = { configurable: { sessionId: "ann" } };
const ask = () => ({ messages: [human("q", "q1")] });
const newMemory = () => new RedisChatMemory({ store: new InMemorySessionStore() });

function agentWith(model: ToolModel, options: object = {}) {
  return createAgent({
    model,
    tools: [lookup],
    middleware: [redisMemoryMiddleware({ memory: newMemory() })],
    ...options,
  });
}

interface ModelEvent {
  readonly event: string;
  readonly data: { readonly chunk?: AIMessage; readonly output?: AIMessage; readonly input?: { messages: unknown } };
}

async function modelEvents(stream: AsyncIterable<unknown>): Promise<ModelEvent[]> {
  const events: ModelEvent[] = [];
  for await (const event of stream as AsyncIterable<ModelEvent>) {
    if (event.event.startsWith("on_chat_model")) {
      events.push(event);
    }
  }
  return events;
}

const three = ["on_chat_model_start", "on_chat_model_stream", "on_chat_model_end"];

describe("the stream of events of a repeated turn", () => {
  it.each([0, 2])("holds the answer once, as a model's, behind %i steps of an agent", async (steps) => {
    const model = stepsModel(steps);
    const agent = agentWith(model);
    await agent.invoke(ask(), ann);
    const { length } = model.sent;
    const events = await modelEvents(agent.streamEvents(ask(), { version: "v2", ...ann }));
    expect(events.map(({ event }) => event)).toEqual(three);
    expect([events[1]!.data.chunk?.text, events[2]!.data.output?.text]).toEqual(["done", "done"]);
    expect(events[0]!.data.input?.messages).toEqual([[]]);
    expect(model.sent).toHaveLength(length);
  });

  it("holds the call that gives a structured response, as the run's does", async () => {
    const model: ToolModel = new ToolModel(() => {
      return new AIMessage({ content: "", tool_calls: [{ id: "call-1", name: model.lastTool, args: { hour: 12 } }] });
    });
    const agent = agentWith(model, { responseFormat: toolStrategy(z.object({ hour: z.number() })) });
    await agent.invoke(ask(), ann);
    const events = await modelEvents(agent.streamEvents(ask(), { version: "v2", ...ann }));
    expect(events.map(({ event }) => event)).toEqual(three);
    expect(events[1]!.data.chunk?.tool_calls?.map(({ args }) => args)).toEqual([{ hour: 12 }]);
  });

  it("holds the answer of a chain, also one that is read as text", async () => {
    const memory = newMemory();
    const { StringOutputParser } = await import("@langchain/core/output_parsers");
    const chain = withRedisMemory(new ToolModel(() => "done").pipe(new StringOutputParser()), { memory });
    await chain.invoke([human("q", "q1")], ann);
    const events = await modelEvents(chain.streamEvents([human("q", "q1")], { version: "v2", ...ann }));
    expect(events.map(({ event }) => event)).toEqual(three);
    expect(events[2]!.data.output?.text).toBe("done");
  });
});

describe("the stream of messages of a repeated turn", () => {
  it("holds one part of a message with the whole answer, of an agent and of a chain in a graph", async () => {
    const chain = withRedisMemory(new ToolModel(() => "done"), { memory: newMemory() });
    const node = async ({ messages }: { messages: BaseMessage[] }) => ({
      messages: [await chain.invoke(messages, ann)],
    });
    const graph = new StateGraph(MessagesAnnotation).addNode("say", node).addEdge("__start__", "say").compile();
    for (const runnable of [agentWith(stepsModel(0)), graph]) {
      const { messages } = await (runnable as typeof graph).invoke(ask(), ann);
      const parts: unknown[] = [];
      for await (const [part] of await (runnable as typeof graph).stream(ask(), { ...ann, streamMode: "messages" })) {
        parts.push(part);
      }
      expect(sketch(parts as BaseMessage[])).toEqual(["done"]);
      expect(parts[0]).toBeInstanceOf(AIMessageChunk);
      expect((parts[0] as BaseMessage).id).toBe(messages.at(-1)!.id ?? "none");
    }
  });
});

describe("the updates of a repeated turn", () => {
  it("hold the answer only, as those of the run", async () => {
    const agent = agentWith(stepsModel(0));
    for (const _ of ["run", "retry"]) {
      for await (const update of await agent.stream(ask(), { ...ann, streamMode: "updates" })) {
        const { messages } = (update as Record<string, { messages?: BaseMessage[] }>)["model_request"] ?? {};
        expect(messages && sketch(messages)).toEqual(messages && ["done"]);
      }
    }
  });
});

it("a repeated turn tells tracers and counters of no model call", async () => {
  const calls: string[] = [];
  const counter = BaseCallbackHandler.fromMethods({ handleLLMEnd: () => void calls.push("end") });
  const agent = agentWith(stepsModel(0));
  const chain = withRedisMemory(new ToolModel(() => "done"), { memory: newMemory() });
  for (const _ of ["run", "retry"]) {
    await agent.invoke(ask(), { ...ann, callbacks: [counter] });
    await chain.invoke([human("q", "q1")], { ...ann, callbacks: [counter] });
    await modelEvents(chain.streamEvents([human("q", "q1")], { version: "v2", ...ann, callbacks: [counter] }));
  }
  expect(calls).toHaveLength(2);
});

describe("the output of a repeated turn of a chain", () => {
  it.each([
    ["an object", { city: "Oslo", at: [1, null] }, 1],
    ["a list", [{ city: "Oslo" }], 1],
    ["an object of a class, which is computed again", new URL("redis://oslo"), 2],
    ["an object that JSON changes, which is computed again", { at: new Date(0) }, 2],
  ])("is that of the run where it was %s", async (_, output, calls) => {
    let made = 0;
    const answering = () => {
      made += 1;
      return output as object;
    };
    const chain = withRedisMemory(answering, { memory: newMemory() });
    for (const _ of ["run", "retry"]) {
      expect(await chain.invoke([human("q", "q1")], ann)).toEqual(output);
    }
    expect(made).toBe(calls);
  });
});
