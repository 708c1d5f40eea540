import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { Command, Redis, type RedisOptions } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { RedisSaver, RedisStore } from "langchain-redis-memory/checkpoint";
import { redisRuns } from "langchain-redis-memory/runs";
import { closedAfterEach } from "../support/closed-after-each.js";
import { ai, human } from "../support/messages.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { chunksOf, spoken } from "../runs/spoken-source.js";
import { all } from "../support/all.js";

/** Options of a client of the application's that change what its replies look like. */
const forms: readonly (readonly [string, RedisOptions])[] = [
  ["as ioredis has them", {}],
  ["with numbers as text", { stringNumbers: true }],
  ["by the protocol of Redis 2", { protocol: 2 } as RedisOptions],
  ["in the shapes of RESP3", { protocol: 3, replyMapping: "resp3" } as RedisOptions],
  ["in the shapes of RESP3, with numbers as text", { replyMapping: "resp3", stringNumbers: true } as RedisOptions],
  ["with a prefix and automatic pipelines", { keyPrefix: "app:", enableAutoPipelining: true }],
];
const toMap = (reply: unknown) => {
  const pairs = reply as string[];
  return Array.isArray(reply) ? new Map(pairs.flatMap((name, at) => (at % 2 ? [] : [[name, pairs[at + 1]]]))) : reply;
};

describe.each(forms)("replies %s", (_, options) => {
  const closed = closedAfterEach();
  const place = () => {
    const client = closed(new Redis(sharedRedisUrl(), options));
    const redis = { keyPrefix: uniquePrefix() };
    return { client, redis, memory: closed(new RedisChatMemory({ client, redis })) };
  };

  it("are read by threads, also by other clients", async () => {
    const keyPrefix = uniquePrefix();
    const client = closed(new Redis(sharedRedisUrl(), options));
    const saver = new RedisSaver({ client, keyPrefix, keep: 4 });
    const config = { configurable: { thread_id: "t", owner: "ann" } };
    const list: string[] = [];
    let last = config;
    for (let step = 1; step <= 30; step += 1) {
      list.push(`${step} `.repeat(60));
      const values = { channel_values: { list: [...list] }, channel_versions: { list: step } };
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), ...values };
      last = (await saver.put(last, checkpoint, { source: "loop", step, parents: {} }, { list: step })) as typeof last;
      await saver.putWrites(last, [["list", [`write ${step} `.repeat(40)]]], "task");
    }
    const others = closed(new Redis(sharedRedisUrl(), { keyPrefix: options.keyPrefix ?? "" }));
    for (const reader of [saver, new RedisSaver({ client: others, keyPrefix })]) {
      const tuple = (await reader.getTuple(config))!;
      expect(tuple.checkpoint.channel_values["list"]).toEqual(list);
      expect(tuple.pendingWrites).toHaveLength(1);
    }
    expect(await saver.prune("t", { keep: 1 })).toBeGreaterThan(0);
    const { sessions } = closed(new RedisChatMemory({ client, redis: { keyPrefix } }));
    for (const isMap of [false, true]) {
      const { hgetall } = (Command as unknown as { _transformer: { reply: Record<string, unknown> } })._transformer
        .reply;
      if (isMap) {
        Command.setReplyTransformer("hgetall", toMap);
      }
      const lines = await all(sessions.exportOwner("ann"));
      Command.setReplyTransformer("hgetall", hgetall as never);
      const { memory } = place();
      expect(await memory.sessions.import(lines)).toMatchObject({ threads: 1 });
      const { checkpoint } = (await new RedisSaver({ memory }).getTuple(config))!;
      expect(checkpoint.channel_values["list"]).toEqual(list);
    }
  });

  it("are read by long-term memory: nothing is left of a namespace", async () => {
    const { memory } = place();
    const store = new RedisStore({ memory });
    const namespace = ["users", "ann"];
    await store.batch(Array.from({ length: 2_500 }, (_, at) => ({ namespace, key: `${at}`, value: { at } })));
    expect(await store.search(namespace, { filter: { at: { $gte: 2_498 } } })).toHaveLength(2);
    expect(await store.deleteNamespace(namespace)).toBe(2_500);
    expect(await store.search(["users"])).toEqual([]);
  });

  it("are read by sessions and their lists", async () => {
    const { memory } = place();
    for (const id of ["a", "b"]) {
      await memory.history(id, { owner: "ann", title: id }).addMessages([human("Hi"), ai("Hello")]);
    }
    await memory.drain();
    expect((await memory.history("a").getMessages()).map(({ text }) => text)).toEqual(["Hi", "Hello"]);
    expect((await memory.history("a").stats()).messages).toBe(2);
    expect(await memory.sessions.count({ owner: "ann" })).toBe(2);
    expect((await memory.sessions.list({ owner: "ann" })).sessions.map(({ messages }) => messages)).toEqual([2, 2]);
    expect(await memory.sessions.deleteOwner("ann", { unlisted: true })).toMatchObject({ sessions: 2 });
    expect(await memory.history("a").getMessages()).toEqual([]);
  });

  it("are read by runs, on two instances", async () => {
    const { client, redis, memory } = place();
    const calm = { lostAfterMs: 600_000, batchMs: 1 };
    const runs = redisRuns(memory, calm);
    const far = redisRuns(closed(new RedisChatMemory({ client, redis })), calm);
    const { work, say } = spoken();
    const run = await runs.start("s", { turnId: "A" }, work);
    const second = far.start("s", { turnId: "B", whileRunning: "queue" }, async function* () {
      yield "b";
    });
    say("a");
    const reader = all(far.join("s"));
    expect(await far.active("s")).toMatchObject({ turnId: "A", since: expect.any(Number) });
    expect(await far.stop("s", { turnId: "A" })).toBe(true);
    expect((await all(run)).at(-1)).toEqual({ state: "stopped" });
    expect(chunksOf(await reader)).toEqual(["a"]);
    expect(chunksOf(await all(await second))).toEqual(["b"]);
  });
});
