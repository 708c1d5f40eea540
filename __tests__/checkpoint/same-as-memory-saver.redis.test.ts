import { AIMessage, HumanMessage, RemoveMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
  interrupt,
  messagesDeltaReducer,
  messagesStateReducer,
} from "@langchain/langgraph";
import { createAgent, humanInTheLoopMiddleware } from "langchain";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import type { RedisSaverSettings } from "../../src/langgraph/checkpoint/saver-options.js";
import { lookup, lookupCall, stepsModel, ToolModel } from "../support/agents.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all, ComparedSaver } from "./compared-saver.js";

type Durability = "sync" | "async" | "exit";

/** A thread on both savers. */
interface Scene {
  readonly checkpointer: ComparedSaver;
  readonly thread: { readonly configurable: { readonly thread_id: string }; readonly durability: Durability };
}

const long = (text: string) => `${text} ${"and so on ".repeat(40)}`;

/** The graphs; what they store is compared at each read and at the end. */
const scenarios: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  "an agent of two turns with tools": async ({ checkpointer, thread }) => {
    for (const turn of [1, 2]) {
      const agent = createAgent({ model: stepsModel(4), tools: [lookup], checkpointer });
      await agent.invoke({ messages: [new HumanMessage(long(`question ${turn}`))] }, thread);
    }
  },
  "an agent that calls five tools at once": async ({ checkpointer, thread }) => {
    const call = (id: number) => ({
      id: `c${id}`,
      name: "lookup",
      args: { query: long(String(id)) },
      type: "tool_call" as const,
    });
    const model: ToolModel = new ToolModel(() =>
      model.sent.length % 3 === 0
        ? "done"
        : new AIMessage({ content: "", id: randomUUID(), tool_calls: [1, 2, 3, 4, 5].map(call) }),
    );
    const agent = createAgent({ model, tools: [lookup], checkpointer });
    await agent.invoke({ messages: [{ role: "user", content: long("five") }] }, thread);
    await agent.invoke({ messages: [{ role: "user", content: long("again") }] }, thread);
  },
  "an agent whose tool a human approves": async ({ checkpointer, thread }) => {
    const model: ToolModel = new ToolModel(() => (model.sent.length === 1 ? lookupCall("x") : "done"));
    const middleware = [humanInTheLoopMiddleware({ interruptOn: { lookup: true } })];
    const agent = createAgent({ model, tools: [lookup], middleware, checkpointer });
    await agent.invoke({ messages: [{ role: "user", content: "find" }] }, thread);
    await agent.getState(thread);
    await agent.invoke(new Command({ resume: { decisions: [{ type: "approve" }] } }), thread);
  },
  "two interrupts that are resumed": async ({ checkpointer, thread }) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("ask", () => {
        const [name, town] = [interrupt({ ask: "name" }), interrupt({ ask: "town" })] as string[];
        return { messages: [new AIMessage({ content: long(`${name} in ${town}`), id: "answer" })] };
      })
      .addEdge(START, "ask")
      .compile({ checkpointer });
    await graph.invoke({ messages: [new HumanMessage(long("go"))] }, thread);
    await graph.invoke(new Command({ resume: "Ann" }), thread);
    await graph.invoke(new Command({ resume: "Oslo" }), thread);
    await graph.getState(thread);
  },
  "time travel: a changed state, a replay, a copy": async ({ checkpointer, thread }) => {
    let answers = 0;
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("answer", () => ({
        messages: [new AIMessage({ content: long(`answer ${(answers += 1)}`), id: randomUUID() })],
      }))
      .addNode("end", () => ({}))
      .addEdge(START, "answer")
      .addEdge("answer", "end")
      .compile({ checkpointer });
    await graph.invoke({ messages: [new HumanMessage({ content: long("one"), id: "q1" })] }, thread);
    await graph.invoke({ messages: [new HumanMessage({ content: long("two"), id: "q2" })] }, thread);
    const history = await all(graph.getStateHistory(thread));
    const asked = history.find(({ next }) => next[0] === "answer") ?? history[0]!;
    await graph.invoke(null, { ...asked.config, durability: thread.durability });
    const changed = await graph.updateState(asked.config, {
      messages: [new HumanMessage({ content: long("2b"), id: "q2" })],
    });
    await graph.invoke(null, { ...changed, durability: thread.durability });
    await graph.updateState(asked.config, null, "__copy__");
    await graph.updateState(thread, { messages: [new RemoveMessage({ id: "q1" })] });
    await all(graph.getStateHistory(thread));
  },
  "a subgraph with an interrupt, twice": async ({ checkpointer, thread }) => {
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("think", () => ({ messages: [new AIMessage({ content: long("hm"), id: randomUUID() })] }))
      .addNode("ask", () => ({ messages: [new AIMessage({ content: String(interrupt("sure?")), id: randomUUID() })] }))
      .addEdge(START, "think")
      .addEdge("think", "ask")
      .compile();
    const outer = new StateGraph(MessagesAnnotation)
      .addNode("inner", inner)
      .addEdge(START, "inner")
      .compile({ checkpointer });
    for (const run of ["1", "2"]) {
      await outer.invoke({ messages: [new HumanMessage({ content: long(run), id: `h${run}` })] }, thread);
      await outer.getState(thread, { subgraphs: true });
      await outer.invoke(new Command({ resume: long(`yes ${run}`) }), thread);
    }
  },
  "many tasks at once": async ({ checkpointer, thread }) => {
    const State = Annotation.Root({
      topics: Annotation<string[]>,
      found: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
    });
    const graph = new StateGraph(State)
      .addNode("search", ({ topics }: { topics: string[] }) => ({ found: [{ topic: topics[0], text: long("found") }] }))
      .addConditionalEdges(START, ({ topics }) =>
        topics.map((topic) => new Send("search", { topics: [topic, ...topics] })),
      )
      .addEdge("search", END)
      .compile({ checkpointer });
    const topics = Array.from({ length: 12 }, (_, index) => long(`topic ${index}`));
    await graph.invoke({ topics }, thread);
    await graph.invoke({ topics: topics.slice(3) }, thread);
  },
  "a DeltaChannel": async ({ checkpointer, thread }) => {
    const State = Annotation.Root({
      messages: () => new DeltaChannel<BaseMessage[]>(messagesDeltaReducer as never, { snapshotFrequency: 5 } as never),
    } as never);
    const graph = new StateGraph(State as never)
      .addNode("answer", (() => ({ messages: [new AIMessage({ content: long("a"), id: randomUUID() })] })) as never)
      .addEdge(START, "answer" as never)
      .compile({ checkpointer });
    for (let turn = 0; turn < 6; turn += 1) {
      await graph.invoke(
        { messages: [new HumanMessage({ content: long(`t${turn}`), id: `t${turn}` })] } as never,
        thread,
      );
    }
    expect((await graph.getState(thread)).values.messages).toHaveLength(12);
    await all(graph.getStateHistory(thread));
  },
  "a run that is aborted, and goes on": async ({ checkpointer, thread }) => {
    const stop = new AbortController();
    let hasStopped = false;
    const slow = tool(
      async ({ query }: { query: string }) => {
        if (query === "step 3" && !hasStopped) {
          hasStopped = true;
          stop.abort();
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
        return long(query);
      },
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    const agent = createAgent({ model: stepsModel(5), tools: [slow], checkpointer });
    const run = agent.invoke({ messages: [new HumanMessage(long("go"))] }, { ...thread, signal: stop.signal });
    await run.catch(() => undefined);
    await agent.getState(thread);
    await agent.invoke(null, thread).catch(() => undefined);
  },
  "values of every kind": async ({ checkpointer, thread }) => {
    const State = Annotation.Root({
      list: Annotation<unknown[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
      any: Annotation<unknown>,
      messages: Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] }),
    });
    const values: unknown[] = [
      undefined,
      null,
      new Map([[long("a"), new Set([1])]]),
      { $lcmem: { l: "0-5" }, text: long("forged") },
      [{ $lcmem: { i: "0" } }, long("a"), long("b")],
      [{ $lcmem: { i: "0" }, lc: 2 }],
      { deep: { list: [{ inner: [long("x"), long("y")] }, long("z")], note: long("n") } },
      new ToolMessage({ content: long("r"), tool_call_id: "c1", artifact: { lc: 1, bytes: new Uint8Array([1, 2]) } }),
      { lc: 1, type: "constructor", id: ["not", "known"], note: long("odd") },
      /a+/gi,
      new Error(long("failed")),
      "\ud800 half",
    ];
    let step = 0;
    const graph = new StateGraph(State)
      .addNode("next", () => ({
        any: values[step],
        list: [values[step], long(String(step))],
        messages: [new AIMessage("x")],
      }))
      .addConditionalEdges("next", () => ((step += 1) < values.length ? "next" : END))
      .addEdge(START, "next")
      .compile({ checkpointer });
    await graph.invoke({ any: "start" }, { ...thread, recursionLimit: 50 });
  },
};

/** Encryption knows nothing of durability, so one is enough beside it. */
const settings: readonly (readonly [string, RedisSaverSettings, readonly Durability[]])[] = [
  ["plain", {}, ["sync", "async", "exit"]],
  ["encrypted", { encryption: testKeys("k1") }, ["async"]],
];

describe.each(settings)("A thread, %s, is the same as on MemorySaver", (_, setting, durabilities) => {
  const saver = RedisSaver.fromUrl(sharedRedisUrl(), { ...setting, keyPrefix: uniquePrefix() });
  afterAll(() => saver.close());

  describe.each(durabilities)("%s", (durability) => {
    it.each(Object.entries(scenarios))("with %s", async (_name, play) => {
      const checkpointer = new ComparedSaver(saver);
      const threadId = randomUUID();
      await play({ checkpointer, thread: { configurable: { thread_id: threadId }, durability } });
      expect(await checkpointer.compareAll(threadId)).toBeGreaterThan(0);
      expect(checkpointer.reads).toBeGreaterThan(2);
    });
  });
});
