import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { createAgent } from "langchain";
import { z } from "zod";
import type { Redis } from "ioredis";
import { randomUUID } from "node:crypto";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import type { RedisSaverSettings } from "../../src/langgraph/checkpoint/thread-wire.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";
import { ToolModel } from "../support/agents.js";
import { ownServer } from "../support/own-server.js";
import { propertyRuns } from "../support/property-runs.js";
import { all } from "../support/all.js";

/** 400 bytes that no other call has. */
const content = (seed: number) => `${seed} `.padEnd(400, "words of a message that is as long as most are ");

const fetchPage = tool(async ({ page }: { page: number }) => content(page), {
  name: "fetch_page",
  schema: z.object({ page: z.number() }),
});

let id = 0;

/** A model that calls the tool so many times at once, in each of so many rounds. */
function callingModel(rounds: number, parallel = 1): ToolModel {
  const model: ToolModel = new ToolModel(() => {
    const calls = Array.from({ length: parallel }, () => ({
      name: "fetch_page",
      args: { page: (id += 1) },
      id: `c${id}`,
    }));
    const said = { content: content(id), id: `ai-${id}` };
    return model.sent.length <= rounds
      ? new AIMessage({ ...said, tool_calls: calls.map((call) => ({ ...call, type: "tool_call" })) })
      : new AIMessage(said);
  });
  return model;
}

function earlier(count: number): BaseMessage[] {
  return Array.from({ length: count }, (_, index) => {
    const fields = { content: content(-index - 1), id: `m${index}` };
    return index % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
  });
}

describe("A thread on RedisSaver grows by what is new in a step", () => {
  const own = ownServer(startRedis);

  const open = (settings: RedisSaverSettings = {}) => new RedisSaver({ client: own.client, ...settings });
  const thread = (id: string) => ({
    configurable: { thread_id: id },
    recursionLimit: 3_000,
    durability: "sync" as const,
  });
  const itemsOf = (id: string) => own.client.llen(threadKeys("lcmem", id).items);
  const bytesOf = async (id: string) => {
    const sizes = await Promise.all(
      Object.values(threadKeys("lcmem", id)).map((key) => own.client.memory("USAGE", key, "SAMPLES", 0)),
    );
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  };
  const sentBytes = async () => Number(/total_net_input_bytes:(\d+)/.exec(await own.client.info("stats"))![1]);

  it("stores 120 steps of a tool loop or more flat, each message once", async () => {
    const steps = 2 * propertyRuns(120);
    const windows = [steps / 6, steps / 2, (2 * steps) / 3, steps].map(Math.floor);
    const checkpointer = open();
    const marks = new Map<number, number>();
    const put = checkpointer.put.bind(checkpointer);
    jest.spyOn(checkpointer, "put").mockImplementation(async (...call) => {
      const stored = await put(...call);
      const { step } = call[2];
      if (windows.includes(step)) {
        marks.set(step, await bytesOf("loop"));
      }
      return stored;
    });
    const agent = createAgent({ model: callingModel(steps / 2), tools: [fetchPage], checkpointer });
    await own.client.config("RESETSTAT");
    const { messages } = await agent.invoke({ messages: earlier(100) }, thread("loop"));
    const sent = await sentBytes();
    const perStep = (from: number, to: number) => (marks.get(to)! - marks.get(from)!) / (to - from);
    expect(messages).toHaveLength(steps + 101);
    expect(Math.abs((await itemsOf("loop")) - messages.length)).toBeLessThanOrEqual(0.01 * messages.length + 1);
    const [first, last] = [perStep(windows[0]!, windows[1]!), perStep(windows[2]!, windows[3]!)];
    expect(last).toBeLessThan(1.05 * first);
    expect(last).toBeLessThan(2_500);
    expect(sent / steps).toBeLessThan(3_050);
  });

  it.each(["an agent", "a subgraph"])(
    "stores each message of %s once, as cheap in each turn: five calls at once, two savers in turn, restarts",
    async (name) => {
      const savers = [open(), open(), open()];
      let messages: BaseMessage[] = [];
      const sent: number[] = [];
      for (const [turn, saver] of [0, 1, 0, 2].entries()) {
        const checkpointer = savers[saver]!;
        const ownSaver = name === "an agent" ? { checkpointer } : {};
        const agent = createAgent({ model: callingModel(1, 5), tools: [fetchPage], ...ownSaver });
        const outer = new StateGraph(MessagesAnnotation).addNode("agent", agent.graph).addEdge(START, "agent");
        const graph = name === "an agent" ? agent : outer.compile({ checkpointer });
        const asked = turn === 0 ? earlier(100) : [new HumanMessage({ id: `q${turn}`, content: content(-turn - 200) })];
        const before = await sentBytes();
        ({ messages } = (await graph.invoke({ messages: asked }, thread(name))) as { messages: BaseMessage[] });
        sent.push((await sentBytes()) - before);
      }
      expect(sent[3]).toBeLessThan(1.02 * sent[1]!);
      expect(messages).toHaveLength(131);
      expect(Math.abs((await itemsOf(name)) - 1 - messages.length)).toBeLessThanOrEqual(1);
    },
  );

  it("is read by as many commands and bytes at 300 checkpoints as at 10", async () => {
    const saver = open();
    const costsOf = async (count: number) => {
      const { configurable } = thread(`of ${count}`);
      let config: object = { configurable };
      for (let step = 1; step <= count; step += 1) {
        const values = { channel_values: { messages: earlier(30) }, channel_versions: { messages: 1 } };
        const checkpoint = { ...emptyCheckpoint(), ...values, id: uuid6(step) };
        config = await saver.put(config, checkpoint, { source: "loop", step, parents: {} }, {});
      }
      const costs: { commands: number; bytes: number }[] = [];
      for (const read of [
        () => saver.getTuple({ configurable }),
        () => all(saver.list({ configurable: { ...configurable, checkpoint_ns: "" } }, { limit: 10 })),
      ]) {
        await read();
        await own.client.config("RESETSTAT");
        await read();
        const calls = [...(await own.client.info("commandstats")).matchAll(/calls=(\d+)/g)];
        const bytes = Number(/total_net_output_bytes:(\d+)/.exec(await own.client.info("stats"))![1]);
        costs.push({ commands: calls.reduce((sum, [, number]) => sum + Number(number), 0), bytes });
      }
      return costs;
    };
    const [few, many] = [await costsOf(10), await costsOf(300)];
    expect(many.map(({ commands }) => commands)).toEqual(few.map(({ commands }) => commands));
    many.forEach(({ bytes }, index) => expect(bytes).toBeLessThan(1.05 * few[index]!.bytes));
  });
});

const meta = { source: "loop", step: 0, parents: {} } as const;

function showing(count: number, from = 0): Checkpoint {
  const messages = Array.from({ length: count }, (_, index) => {
    return new HumanMessage({ id: `${from + index}`, content: `${from + index} `.padEnd(400, "and so on ") });
  });
  return { ...emptyCheckpoint(), id: uuid6(1), channel_values: { messages }, channel_versions: { messages: count } };
}

describe("A saver's round trips", () => {
  const own = ownServer(startRedis);
  let client: Redis;
  let trips = 0;
  beforeAll(() => {
    ({ client } = own);
    // Every command of the saver is a round trip of its own: it uses no pipelines.
    const call = client.call.bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.call = ((...args: unknown[]) => {
      trips += 1;
      return call(...args);
    }) as typeof client.call;
    jest.spyOn(client, "pipeline").mockImplementation(() => {
      throw new Error("A saver sends no pipelines.");
    });
  });
  const tripsOf = async (work: () => Promise<unknown>) => {
    const before = trips;
    await work();
    return trips - before;
  };
  const at = (threadId: string) => ({ configurable: { thread_id: threadId } });

  it("are one a call and a page, with a filter too, one more for a thread that is not known", async () => {
    const [saver, other, thread] = [new RedisSaver({ client }), new RedisSaver({ client }), randomUUID()];
    let config = at(thread);
    const put = (by: RedisSaver, count: number) => async () => {
      config = (await by.put(config, showing(count), meta, { messages: count })) as typeof config;
    };
    expect(await tripsOf(() => saver.getTuple(config))).toBe(1);
    expect(await tripsOf(put(saver, 100))).toBe(1);
    expect(await tripsOf(put(saver, 101))).toBe(1);
    expect(await tripsOf(() => saver.putWrites(config, [["messages", [{ text: "x".repeat(500) }]]], "t"))).toBe(1);
    expect(await tripsOf(() => saver.getTuple(at(thread)))).toBe(1);
    expect(await tripsOf(() => all(saver.list(at(thread), { limit: 2 })))).toBe(1);
    const root = { configurable: { thread_id: thread, checkpoint_ns: "" } };
    expect(await tripsOf(() => all(saver.list(root)))).toBe(1);
    expect(await tripsOf(() => all(saver.list(root, { filter: { source: "loop" } })))).toBe(1);
    expect(await tripsOf(put(other, 102))).toBe(2);
    expect(await tripsOf(put(other, 103))).toBe(1);
    // Others stored items: what is written is refused, read and written again.
    expect(await tripsOf(put(saver, 104))).toBe(3);
    expect(await tripsOf(put(saver, 105))).toBe(1);
    await saver.prune(thread, { keep: 1 });
    expect(await tripsOf(put(other, 60))).toBe(3);
    expect(await tripsOf(put(other, 61))).toBe(1);
    // Two keys are looked at first, together: a script may not name missing keys of a slot that is being moved.
    expect(await tripsOf(() => saver.deleteThread(thread))).toBe(3);
    expect(await tripsOf(put(other, 61))).toBe(3);
  });

  it("are one more after a flush of the scripts", async () => {
    const [saver, thread] = [new RedisSaver({ client }), randomUUID()];
    await saver.put(at(thread), showing(3), meta, { messages: 3 });
    await client.script("FLUSH");
    expect(await tripsOf(() => saver.put(at(thread), showing(4), meta, { messages: 4 }))).toBe(2);
    expect(await tripsOf(() => saver.put(at(thread), showing(5), meta, { messages: 5 }))).toBe(1);
  });

  it("store a list of which every fourth element was replaced with few bytes more", async () => {
    const [saver, thread] = [new RedisSaver({ client }), randomUUID()];
    const checkpoint = showing(1_000);
    const messages = checkpoint.channel_values["messages"] as HumanMessage[];
    let config = (await saver.put(at(thread), checkpoint, meta, { messages: 1 })) as ReturnType<typeof at>;
    const replaced = messages
      .map((message, index) => (index % 4 === 0 ? showing(1, index + 5_000).channel_values["messages"] : message))
      .flat();
    const sizes: number[] = [];
    for (let step = 0; step < 5; step += 1) {
      replaced.push(...(showing(1, 9_000 + step).channel_values["messages"] as HumanMessage[]));
      const next = {
        ...showing(0),
        channel_values: { messages: [...replaced] },
        channel_versions: { messages: 2 + step },
      };
      config = (await saver.put(config, next, meta, { messages: 2 + step })) as typeof config;
      const id = (config.configurable as { checkpoint_id?: string }).checkpoint_id!;
      sizes.push((await client.hstrlen(`lcmem:{${thread}}:checkpoints`, `c\0${id}`))!);
    }
    expect(Math.max(...sizes.slice(1))).toBeLessThan(1_200);
    const read = (await new RedisSaver({ client }).get(at(thread)))!.channel_values["messages"] as HumanMessage[];
    expect(read.map(({ id }) => id)).toEqual(replaced.map((message) => (message as HumanMessage).id));
  });
});
