import { AIMessage, HumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  Command,
  DeltaChannel,
  MessagesAnnotation,
  START,
  StateGraph,
  interrupt,
  messagesDeltaReducer,
} from "@langchain/langgraph";
import { emptyCheckpoint, uuid6, type Checkpoint } from "@langchain/langgraph-checkpoint";
import { randomUUID } from "node:crypto";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import type { RedisSaverSettings } from "../../src/langgraph/checkpoint/thread-wire.js";
import { threadKeys } from "../../src/store/redis/keys.js";
import type { RedisClient } from "../../src/store/redis/connection.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const meta = { source: "loop", step: 0, parents: {} } as const;
const long = (text: string) => `${text} ${"and so on ".repeat(40)}`;
const message = (id: string, text = id) => new HumanMessage({ id, content: long(text) });

/** A checkpoint that shows these messages, and the versions of a call that changed them. */
function showing(messages: readonly unknown[], step = 1): [Checkpoint, typeof meta, Record<string, number>] {
  const versions = { messages: step };
  const values = { messages: [...messages] };
  return [
    { ...emptyCheckpoint(), id: uuid6(step), channel_values: values, channel_versions: versions },
    meta,
    versions,
  ];
}

describe("A thread on RedisSaver under attack", () => {
  const keyPrefix = uniquePrefix();
  const client = sharedClient();

  const open = (settings: RedisSaverSettings = {}, given: RedisClient = client) =>
    new RedisSaver({ client: given, keyPrefix, ...settings });
  const at = (threadId: string, id?: string) => ({
    configurable: { thread_id: threadId, ...(id && { checkpoint_id: id }) },
  });
  const keysOf = (threadId: string) => threadKeys(keyPrefix, threadId);
  const contents = async (threadId: string) => {
    const { items, checkpoints, order } = keysOf(threadId);
    const fields = Object.entries(await client.hgetall(checkpoints)).sort(([a], [b]) => (a < b ? -1 : 1));
    return JSON.stringify([await client.lrange(items, 0, -1), fields, await client.zrange(order, "0", "-1")]);
  };
  const shown = async (saver: RedisSaver, config: ReturnType<typeof at>) => {
    const { messages = [] } = (await saver.get(config))?.channel_values ?? {};
    return (messages as HumanMessage[]).map(({ id }) => id);
  };

  it("stores the values of the moment of the call, bytes too", async () => {
    const [saver, thread] = [open(), randomUUID()];
    const [bytes, list, text] = [new Uint8Array([1, 2, 3]), [message("a")], { note: long("before") }];
    const [checkpoint, ...rest] = showing([]);
    checkpoint.channel_values = { bytes, list, text };
    checkpoint.channel_versions = { bytes: 1, list: 1, text: 1 };
    const put = saver.put(at(thread), checkpoint, rest[0], checkpoint.channel_versions as Record<string, number>);
    const written = saver.putWrites(at(thread, checkpoint.id), [["bytes", bytes]], "task");
    bytes[0] = 9;
    list.push(message("b"));
    text.note = "after";
    await Promise.all([put, written]);
    const { checkpoint: read, pendingWrites } = (await saver.getTuple(at(thread)))!;
    expect(read.channel_values["bytes"]).toEqual(new Uint8Array([1, 2, 3]));
    expect(pendingWrites).toEqual([["task", "bytes", new Uint8Array([1, 2, 3])]]);
    expect(read.channel_values["list"]).toHaveLength(1);
    expect(read.channel_values["text"]).toEqual({ note: long("before") });
  });

  it("leaves what once leaves where every script is sent three times", async () => {
    const call = async (command: string, args: (string | Buffer)[]) => {
      if (/^eval/i.test(command)) {
        await client.call(command, args as string[]);
        await client.call(command, args as string[]).catch(() => undefined);
      }
      return client.call(command, args as string[]);
    };
    const thrice = new Proxy(client, { get: (target, name) => (name === "call" ? call : Reflect.get(target, name)) });
    const play = async (saver: RedisSaver, thread: string, steps: readonly ReturnType<typeof showing>[]) => {
      let config = at(thread);
      for (const [checkpoint, ...rest] of steps) {
        config = (await saver.put(config, checkpoint, ...rest)) as typeof config;
        await saver.putWrites(config, [["messages", [message(`w ${checkpoint.id}`)]]], "task", "path");
      }
    };
    const steps = Array.from({ length: 30 }, (_, step) =>
      showing(
        Array.from({ length: step + 1 }, (_value, index) => message(`${index}`)),
        step + 1,
      ),
    );
    const savers = [open({ keep: 5 }), open({ keep: 5 }, thrice as unknown as RedisClient)];
    const left = savers.map(async (saver) => {
      const thread = randomUUID();
      await play(saver, thread, steps);
      const played = await contents(thread);
      await saver.prune(thread, { keep: 3 });
      const pruned = await contents(thread);
      await saver.deleteThread(thread);
      return [played, pruned, await contents(thread)];
    });
    const [once, often] = await Promise.all(left);
    const withoutTokens = (text: string) => text.replace(/\["token","[^"]+"\]/, "");
    expect(often!.map(withoutTokens)).toEqual(once!.map(withoutTokens));
    expect(once![2]).toBe(await contents("a thread that never was"));
  });

  it("stores a checkpoint where another saver writes before each of its calls", async () => {
    const [other, thread] = [open(), randomUUID()];
    let [step, config] = [0, at(thread)];
    const write = async () => {
      config = (await other.put(config, ...showing([message(`${(step += 1)}`)], step))) as typeof config;
    };
    const call = async (command: string, args: string[]) => {
      await (/^eval/i.test(command) ? write() : undefined);
      return client.call(command, args);
    };
    const late = new Proxy(client, { get: (target, name) => (name === "call" ? call : Reflect.get(target, name)) });
    await write();
    const [checkpoint, ...rest] = showing([message("1"), message("a")], 2);
    const saver = open({}, late as unknown as RedisClient);
    const stored = (await saver.put(config, checkpoint, ...rest)) as ReturnType<typeof at>;
    await saver.putWrites(stored, [["messages", [message("1"), message("b")]]], "task");
    expect(await shown(open(), stored)).toEqual(["1", "a"]);
    expect((await open().getTuple(stored))!.pendingWrites).toHaveLength(1);
    expect(await all(open().list(at(thread)))).toHaveLength(step + 1);
  });

  it.each([
    ["was deleted", (thread: string) => open().deleteThread(thread)],
    ["expired", (thread: string) => Promise.all(Object.values(keysOf(thread)).map((key) => client.pexpireat(key, 1)))],
  ])("stores the whole state again after the thread %s in mid run", async (_, end) => {
    const [saver, thread] = [open({ threadTTL: 600 }), randomUUID()];
    const config = (await saver.put(at(thread), ...showing([message("a"), message("b")]))) as ReturnType<typeof at>;
    await end(thread);
    await saver.put(config, ...showing([message("a"), message("b"), message("c")], 2));
    expect(await shown(saver, at(thread))).toEqual(["a", "b", "c"]);
    expect(await shown(open(), at(thread))).toEqual(["a", "b", "c"]);
  });

  it("extends the life of a thread by writes, and by reads where the saver says so", async () => {
    const thread = randomUUID();
    const { host, port } = client.options;
    const reading = new RedisSaver({
      config: { host: host!, port: port! },
      keyPrefix,
      threadTTL: { seconds: 600, refreshOnRead: true },
    });
    const secondsAfter = async (work: () => Promise<unknown>) => {
      await Promise.all(Object.values(keysOf(thread)).map((key) => client.expire(key, 300)));
      await work();
      const left = await Promise.all(Object.values(keysOf(thread)).map((key) => client.pttl(key)));
      return new Set(left.map((milliseconds) => (milliseconds > 300_000 ? 600 : 300)));
    };
    await reading.put(at(thread), ...showing([message("a")]));
    const step = (by: RedisSaver, number: number) => () => by.put(at(thread), ...showing([message("b")], number));
    expect(await secondsAfter(step(open({ threadTTL: 600 }), 2))).toEqual(new Set([600]));
    expect(await secondsAfter(() => reading.getTuple(at(thread)))).toEqual(new Set([600]));
    expect(await secondsAfter(() => open({ threadTTL: 600 }).getTuple(at(thread)))).toEqual(new Set([300]));
    expect(await secondsAfter(step(open(), 3))).toEqual(new Set([300]));
    await reading.close();
  });

  it.each(["items", "checkpoints", "order"] as const)("refuses everything where the key %s is gone", async (part) => {
    const [saver, thread] = [open(), randomUUID()];
    const config = (await saver.put(at(thread), ...showing([message("a"), message("b")]))) as ReturnType<typeof at>;
    await client.del(keysOf(thread)[part]);
    for (const call of [
      () => saver.getTuple(at(thread)),
      () => saver.put(config, ...showing([message("a")], 2)),
      () => saver.putWrites(config, [["a", 1]], "task"),
      () => all(saver.list(at(thread))),
      () => saver.prune(thread, { keep: 1 }),
      () => saver.getDeltaChannelHistory({ config, channels: ["messages"] }),
    ]) {
      await expect(call()).rejects.toMatchObject({ name: "StoreError", code: "damaged", sessionId: thread });
    }
    await saver.deleteThread(thread);
    expect(await saver.getTuple(at(thread))).toBeUndefined();
    expect(await client.exists(...Object.values(keysOf(thread)))).toBe(0);
  });

  it("says that a checkpoint of which an item is lost is damaged", async () => {
    const [saver, thread] = [open(), randomUUID()];
    await saver.put(at(thread), ...showing([message("a"), message("b")]));
    await client.lset(keysOf(thread).items, 2, "");
    await expect(open().getTuple(at(thread))).rejects.toMatchObject({ code: "damaged" });
    await client.ltrim(keysOf(thread).items, 0, 1);
    await expect(open().getTuple(at(thread))).rejects.toMatchObject({ code: "damaged" });
  });

  it.each(["a:b", "{a}", "}{", "a\0b", "\u{1f600}", "*", "__proto__", "a/b%2F", " "])(
    "keeps a thread called %j apart",
    async (name) => {
      const [saver, thread] = [open(), `${name}${randomUUID()}`];
      await saver.put(at(thread), ...showing([message("a")]));
      expect(await shown(open(), at(thread))).toEqual(["a"]);
      expect(keysOf(thread).items).toMatch(/^[^{}]+:\{[^{}:*\s]+\}:items$/);
      expect((await all(saver.list(at(thread)))).map(({ config }) => config.configurable!["thread_id"])).toEqual([
        thread,
      ]);
      const other = { configurable: { thread_id: thread, checkpoint_ns: `x:1|${name.replace("\0", "")}` } };
      await saver.put(other, ...showing([message("b")]));
      expect(await shown(saver, other)).toEqual(["b"]);
      expect(await shown(saver, at(thread))).toEqual(["a"]);
    },
  );

  it("refuses ids that are none", async () => {
    const saver = open();
    const put = (fields: object, id?: string) => {
      const [checkpoint, ...rest] = showing([]);
      return saver.put({ configurable: fields }, { ...checkpoint, ...(id !== undefined && { id }) }, ...rest);
    };
    for (const [call, option] of [
      [() => put({ thread_id: "" }), "thread_id"],
      [() => put({ thread_id: {} }), "thread_id"],
      [() => put({ thread_id: "\ud800" }), "thread_id"],
      [() => put({ thread_id: "a", checkpoint_ns: "a\0b" }), "checkpoint_ns"],
      [() => put({ thread_id: "a" }, ""), "checkpoint_id"],
      [() => put({ thread_id: "a" }, "a\0"), "checkpoint_id"],
    ] as const) {
      await expect(call()).rejects.toMatchObject({ name: "ConfigurationError", option });
    }
  });

  it.each([
    "",
    "nonsense",
    "0||| \0{",
    "0|0-9999999||\0{}",
    "0|@0-99999999999999999999||\0{}",
    "0|||\0{}",
    `0|||\0{"c":{},"d":{"a":{"$lcmem":{"i":"99"}}},"m":{}}`,
    // Sound, but for the positions that scripts go by.
    `0|2,99||\0{"c":{},"d":{},"m":{}}`,
  ])("names a checkpoint whose record is %j, and lists the others", async (garbage) => {
    const events: MemoryEvent[] = [];
    const [saver, thread] = [open({ onEvent: (event) => void events.push(event) }), randomUUID()];
    const first = await saver.put(at(thread), ...showing([message("left")]));
    const config = (await saver.put(first, ...showing([message("a")], 2))) as ReturnType<typeof at>;
    // Positions begin above 0 then.
    await saver.prune(thread, { keep: 1 });
    const last = (await saver.put(config, ...showing([message("a"), message("b")], 3))) as ReturnType<typeof at>;
    const id = (config.configurable as { checkpoint_id?: string }).checkpoint_id!;
    await client.hset(keysOf(thread).checkpoints, `c\0${id}`, garbage);
    await expect(saver.getTuple(config)).rejects.toMatchObject({
      code: expect.stringMatching(/corrupt|damaged/),
      message: expect.stringContaining(`heckpoint ${id} of thread ${thread}`),
    });
    expect((await all(saver.list(at(thread)))).map((tuple) => tuple.config)).toEqual([last]);
    expect(events.filter(({ type }) => type === "record_skipped")).toHaveLength(1);
    expect(await saver.prune(thread, { keep: 1 })).toBe(1);
    expect(await shown(open(), at(thread))).toEqual(["a", "b"]);
  });

  it("refuses a late answer to a checkpoint that was dropped or has expired, and leaves the thread", async () => {
    const state = Annotation.Root({ log: Annotation<string[]>({ reducer: (a, b) => a.concat(b), default: () => [] }) });
    const graph = (checkpointer: RedisSaver) =>
      new StateGraph(state)
        .addNode("ask", () => ({ log: [`answer: ${interrupt("Shall I?")}`] }))
        .addEdge(START, "ask")
        .compile({ checkpointer });
    const unknown = { name: "ConflictError", code: "unknown_checkpoint" };
    const [kept, brief, thread] = [open({ keep: 1 }), open({ threadTTL: { seconds: 600 } }), randomUUID()];
    await graph(kept).invoke({ log: ["question"] }, at(thread));
    const { config } = await graph(kept).getState(at(thread));
    for (let step = 0; step < 15; step += 1) {
      await graph(kept).updateState(at(thread), { log: [`${step}`] });
    }
    const before = await graph(kept).getState(at(thread));
    await expect(graph(kept).invoke(new Command({ resume: "yes" }), config)).rejects.toMatchObject(unknown);
    await expect(graph(kept).getState(config)).rejects.toMatchObject(unknown);
    expect(await graph(kept).getState(at(thread))).toEqual(before);
    // Who walks back finds the end of what is kept, and no error.
    const last = (await all(kept.list(at(thread)))).at(-1)!;
    expect(await kept.getTuple(last.parentConfig!)).toBeUndefined();
    // The id tells its age: a thread that was deleted a moment ago, or never was, is an empty one to LangGraph.
    const old = "1ef00000-0000-6000-8000-000000000000";
    await expect(brief.getTuple(at(randomUUID(), old))).rejects.toMatchObject(unknown);
    expect(await brief.getTuple(at(randomUUID(), uuid6(1)))).toBeUndefined();
    expect(await open().getTuple(at(randomUUID(), old))).toBeUndefined();
  });

  it("comes to an end where a damaged record is its own ancestor", async () => {
    const [saver, thread] = [open(), randomUUID()];
    const config = (await saver.put(at(thread), ...showing([message("a")]))) as ReturnType<typeof at>;
    const { checkpoint_id: id } = (await saver.put(config, ...showing([message("b")], 2))).configurable!;
    const itself = `1||999999999|${id}\0{"c":{},"d":{},"m":{}}`;
    await client.hset(keysOf(thread).checkpoints, `c\0${id}`, itself);
    const history = saver.getDeltaChannelHistory({ config: at(thread, id as string), channels: ["messages"] });
    await expect(history).rejects.toMatchObject({ name: "RecordError", code: "corrupt" });
    expect(await saver.prune(thread, { keep: 1 })).toBe(1);
  });

  it("refuses a value that is too large, and one that JSON cannot hold, before anything is sent", async () => {
    const [saver, thread] = [open({ maxItemBytes: 1_000 }), randomUUID()];
    await expect(saver.put(at(thread), ...showing(["é".repeat(600)]))).rejects.toMatchObject({ code: "too_large" });
    await expect(saver.put(at(thread), ...showing([1n]))).rejects.toMatchObject({ code: "unsupported_message" });
    expect(await client.exists(...Object.values(keysOf(thread)))).toBe(0);
  });

  it("keeps what an interrupt and new checkpoints need, and drops writes whose checkpoint never came", async () => {
    const [saver, thread] = [open({ keep: 2, threadTTL: 600 }), randomUUID()];
    const orphan = { configurable: { thread_id: thread, checkpoint_id: uuid6(0) } };
    await saver.putWrites(orphan, [["messages", [message("lost")]]], "task");
    let config = at(thread);
    const inner = { configurable: { thread_id: thread, checkpoint_ns: "inner" } };
    await saver.put(inner, ...showing([message("inner")]));
    for (let step = 1; step <= 11; step += 1) {
      config = (await saver.put(config, ...showing([message(`${step}`)], step))) as typeof config;
      await saver.putWrites(config, [["__interrupt__", [{ value: long("sure?"), id: "1" }]]], "task");
    }
    expect((await all(saver.list({ configurable: { thread_id: thread, checkpoint_ns: "" } }))).length).toBe(2);
    expect((await saver.getTuple(at(thread)))!.pendingWrites).toHaveLength(1);
    expect(await shown(open(), inner)).toEqual(["inner"]);
    const fields = await client.hkeys(keysOf(thread).checkpoints);
    expect(fields.filter((name) => name.startsWith("w"))).toHaveLength(2);
    const expiries = await Promise.all(
      Object.values(keysOf(thread)).map((key) => client.call("PEXPIRETIME", key).catch(() => 0)),
    );
    expect(new Set(expiries).size).toBe(1);
    const texts = (await client.lrange(keysOf(thread).items, 0, -1)).join();
    expect(texts).not.toContain("lost");
    expect(await saver.prune(thread, { keep: 1 })).toBe(1);
    expect(await shown(open(), at(thread))).toEqual(["11"]);
  });

  it("keeps what a subgraph needs that waits for a human, however few checkpoints stay", async () => {
    const thread = at(randomUUID());
    const say = (text: string) => ({ messages: [new AIMessage({ content: long(text), id: randomUUID() })] });
    let thoughts = 0;
    const inner = new StateGraph(MessagesAnnotation)
      .addNode("think", () => say(`thought ${(thoughts += 1)}`))
      .addNode("ask", () => say(String(interrupt("sure?"))))
      .addEdge(START, "think")
      .addEdge("think", "ask");
    const graphOn = (checkpointer: RedisSaver) =>
      new StateGraph(MessagesAnnotation)
        .addNode("step", () => say("step"))
        .addNode("inner", inner.compile())
        .addEdge(START, "step")
        .addConditionalEdges("step", ({ messages }) => (messages.length < 12 ? "step" : "inner"))
        .compile({ checkpointer });
    await graphOn(open({ keep: 1 })).invoke({ messages: [message("q")] }, thread);
    await open().prune(thread.configurable.thread_id, { keep: 1 });
    expect((await graphOn(open()).getState(thread)).tasks[0]!.interrupts).toMatchObject([{ value: "sure?" }]);
    const { messages } = await graphOn(open({ keep: 1 })).invoke(new Command({ resume: "yes" }), thread);
    expect(messages.slice(-2).map(({ text }) => text)).toEqual([long("thought 1"), long("yes")]);
    expect(thoughts).toBe(1);
  });

  it("keeps the ancestors that a delta channel is built from", async () => {
    const thread = at(randomUUID());
    const channel = () => new DeltaChannel(messagesDeltaReducer as never, { snapshotFrequency: 30 } as never);
    const graph = new StateGraph(Annotation.Root({ messages: channel } as never) as never)
      .addNode("answer", (() => ({ messages: [new AIMessage({ content: long("a"), id: randomUUID() })] })) as never)
      .addEdge(START, "answer" as never)
      .compile({ checkpointer: open({ keep: 2 }) });
    for (let turn = 1; turn <= 12; turn += 1) {
      await graph.invoke({ messages: [message(`q${turn}`)] } as never, thread);
    }
    const { messages } = (await graph.getState(thread)).values as { messages: unknown[] };
    expect(messages).toHaveLength(24);
    const stored = (await client.hkeys(keysOf(thread.configurable.thread_id).checkpoints)).length;
    expect(await open().prune(thread.configurable.thread_id, { keep: 1 })).toBeLessThan(stored);
    expect((await graph.getState(thread)).values).toEqual({ messages });
  });
});
