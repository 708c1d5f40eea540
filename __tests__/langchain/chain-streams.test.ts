import { AIMessage, type BaseMessage, AIMessageChunk } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { IterableReadableStream } from "@langchain/core/utils/stream";
import { tool } from "@langchain/core/tools";
import { createAgent, toolStrategy } from "langchain";
import { z } from "zod";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { lookup, lookupCall, sketch, stepsModel, ToolModel } from "../support/agents.js";
import { human } from "../support/messages.js";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { all } from "../support/all.js";

const config = (turnId: string) => ({ configurable: { sessionId: "ann", turnId } });
const whole = ["look", "<ai>", "found look", "one two three"];

/** A chain of an agent that looks something up. */
function agentChain() {
  const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
  const model: ToolModel = new ToolModel((messages) => {
    const last = messages.at(-1)!;
    return last.getType() === "human" ? lookupCall(last.text) : new AIMessage("one two three");
  });
  const agent = createAgent({ model, tools: [lookup] });
  const chain = withRedisMemory(agent, { memory, inputMessagesKey: "messages" });
  const stored = async () => {
    await memory.drain();
    return sketch(await memory.history("ann").getTranscript());
  };
  return { agent, chain, model, stored };
}

const single = [undefined, "values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"];
const lists = [
  ["values"],
  ["updates"],
  ["messages"],
  ["messages", "updates"],
  ["updates", "values"],
  ["custom", "messages", "debug"],
  ["custom"],
  ["debug", "tasks"],
  ["values", "messages", "updates", "tasks"],
];
const forms = [...single, ...lists].flatMap((streamMode) =>
  [undefined, true].map((subgraphs) => ({
    ...(streamMode !== undefined && { streamMode }),
    ...(subgraphs && { subgraphs }),
  })),
);

describe("the stream of a chain over an agent", () => {
  it.each(forms)("stores what invoke stores, and gives it again in the same form (%j)", async (form) => {
    const { agent, chain, model, stored } = agentChain();
    const ask = async (runnable: Pick<typeof chain, "stream"> = chain) => {
      const chunks: unknown[] = [];
      const stream = await runnable.stream({ messages: [human("look")] }, { ...config("t"), ...form } as never);
      for await (const chunk of stream as AsyncIterable<unknown>) {
        chunks.push(chunk);
      }
      return chunks;
    };
    const shapes = (chunks: readonly unknown[]) => chunks.map((chunk) => Object.keys(chunk as object));
    expect(shapes(await ask())).toEqual(shapes(await ask(agent as never)));
    model.sent.length = 2;
    expect(await stored()).toEqual(whole);
    const [chunk, ...more] = await ask();
    const length = 1 + (Array.isArray(form.streamMode) ? 1 : 0) + (form.subgraphs === true ? 1 : 0);
    const output = (length === 1 ? chunk : (chunk as unknown[])[length - 1]) as { messages: BaseMessage[] };
    expect([length === 1 || (chunk as unknown[]).length === length, more]).toEqual([true, []]);
    expect(output.messages.at(-1)!.text).toBe("one two three");
    expect([model.sent.length, await stored()]).toEqual([2, whole]);
  });

  it("stores the state of a graph that tells no mode of its own, as a remote one, and shows its updates", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const graph = Object.assign(new RunnableLambda({ func: () => ({ messages: [] }) }), {
      lg_is_pregel: true,
      async stream(_: unknown, { streamMode }: { streamMode: readonly string[] }) {
        const parts = { updates: { model: { messages: [] } }, values: { messages: [new AIMessage("yes")] } };
        return IterableReadableStream.fromAsyncGenerator(
          (async function* () {
            yield* streamMode.map((mode) => [mode, parts[mode as "updates"]]);
          })(),
        );
      },
    });
    const chain = withRedisMemory(graph as never, { memory, inputMessagesKey: "messages" });
    const chunks: unknown[] = await all(await chain.stream({ messages: [human("look")] } as never, config("t")));
    expect(chunks).toEqual([{ model: { messages: [] } }]);
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(["look", "yes"]);
  });
});

describe("a finished step of an agent in a chain", () => {
  const newMemory = () => new RedisChatMemory({ store: new InMemorySessionStore() });
  const looping = (persist: "step" | "turn", { fails = false } = {}) => {
    const memory = newMemory();
    const history = memory.history("ann");
    const seen: string[][] = [];
    const model: ToolModel = new ToolModel(async () => {
      seen.push(sketch(await history.getTranscript()));
      if (fails && seen.length === 3) {
        return new Error("ECONNRESET");
      }
      return seen.length < 3 ? lookupCall(`step ${seen.length}`) : "done";
    });
    const chain = withRedisMemory(createAgent({ model, tools: [lookup] }), { memory, persist });
    return { chain, model, history, seen };
  };
  const first = ["look", "<ai>", "found step 1"];
  const steps = [...first, "<ai>", "found step 2"];
  const asked = { messages: [human("look", "q")] };

  it.each(["invoke", "stream"] as const)("is stored before the model is asked again (%s)", async (call) => {
    const { chain, history, seen } = looping("step");
    const output = await chain[call](asked, config("t"));
    await (call === "stream" ? all(output as AsyncIterable<unknown>) : undefined);
    expect(seen).toEqual([["look"], first, steps]);
    expect(sketch(await history.getTranscript())).toEqual([...steps, "done"]);
  });

  it("is stored with the answer alone with persist: turn", async () => {
    const { chain, history, seen } = looping("turn");
    await chain.invoke(asked, config("t"));
    expect(seen).toEqual([[], [], []]);
    expect(sketch(await history.getTranscript())).toEqual([...steps, "done"]);
  });

  it("of an agent in its tool is that agent's", async () => {
    const memory = newMemory();
    const inner = createAgent({ model: stepsModel(1), tools: [lookup] });
    const delegate = tool(async () => (await inner.invoke(asked)).messages.at(-1)!.text, {
      ...{ name: "lookup", schema: z.object({ query: z.string() }) },
    });
    const chain = withRedisMemory(createAgent({ model: stepsModel(1), tools: [delegate] }), { memory });
    await chain.invoke(asked, config("t"));
    expect(sketch(await memory.history("ann").getTranscript())).toEqual(["look", "<ai>", "done", "done"]);
  });
});

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
