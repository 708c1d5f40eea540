import { Redis } from "ioredis";
import { type RedisRuns, type Run, redisRuns, type RunItem } from "langchain-redis-memory/runs";
import { createAgent } from "langchain";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { human } from "../support/messages.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { newMemory } from "../support/memories.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { all, spoken, twoInstances, calm, chunksOf } from "./spoken-source.js";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { SlowModel } from "../support/agents.js";
import { plainAndEncrypted } from "../support/test-keys.js";

const policies = ["queue", "steer", "stop"] as const;
const places = ["the same instance", "another one"] as const;
const cases = policies.flatMap((policy) => places.map((place) => [policy, place] as const));

describe("a start that waits", () => {
  const closed = closedAfterEach();

  function place() {
    const { memories, runs, keyPrefix } = twoInstances();
    const client = closed(new Redis(sharedRedisUrl()));
    const begun: string[] = [];
    const queue = `${keyPrefix}:{s}:run:queue`;
    const waiting = async (count: number) => {
      while ((await client.zcount(queue, "-inf", "(+inf")) !== count) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    /** A work that goes on until it is told to end, whatever its signal says. */
    const start = (on: RedisRuns, turnId: string, options: object = {}): { run: Promise<Run>; end: () => void } => {
      let end = () => {};
      const ended = new Promise<void>((resolve) => (end = resolve));
      const run = on.start("s", { turnId, ...options } as { turnId: string }, async function* () {
        begun.push(turnId);
        yield turnId;
        await ended;
      });
      run.catch(() => undefined);
      return { run, end };
    };
    const key = `${keyPrefix}:{s}:run`;
    return { memories, runs, client, begun, key, queue, waiting, start };
  }

  const how = (policy: (typeof policies)[number], id: string) => ({
    whileRunning: policy,
    ...(policy === "steer" && { message: { role: "user", content: "more", id } }),
  });

  it.each(cases)("by %s is stopped by its turn before it begins, by %s", async (policy, by) => {
    const { runs, begun, waiting, start, client, queue } = place();
    const first = start(runs[0], "A");
    await first.run;
    const second = start(runs[0], "B", how(policy, "b"));
    await waiting(1);
    expect(await runs[0].stop("s", { turnId: "none" })).toBe(false);
    expect(await (by === "another one" ? runs[1] : runs[0]).stop("s", { turnId: "B" })).toBe(true);
    // At once, while the other turn goes on.
    expect(await all(await second.run)).toEqual([{ state: "stopped" }]);
    first.end();
    await all(await first.run);
    expect(begun).toEqual(["A"]);
    expect(await client.exists(queue)).toBe(0);
    expect(await runs[1].stop("s", { turnId: "B" })).toBe(false);
    const again = start(runs[1], "B");
    again.end();
    expect((await all(await again.run)).at(-1)).toEqual({ state: "done" });
  });

  it("is stopped with the run where no turn is named", async () => {
    const { runs, begun, waiting, start } = place();
    const { work, say } = spoken();
    const first = await runs[0].start("s", { turnId: "A" }, work);
    say("a");
    const [second, third] = [start(runs[0], "B", how("queue", "b")), start(runs[1], "C", how("queue", "c"))];
    await waiting(2);
    expect(await runs[1].stop("s")).toBe(true);
    expect((await all(first)).at(-1)).toEqual({ state: "stopped" });
    for (const { run } of [second, third]) {
      expect(await all(await run)).toEqual([{ state: "stopped" }]);
    }
    expect(begun).toEqual([]);
  });

  it("ends as stopped where Redis was told in the moment in which it begins", async () => {
    const { runs, begun, waiting, start, client, queue } = place();
    const first = start(runs[0], "A");
    await first.run;
    const second = start(runs[1], "B", how("queue", "b"));
    await waiting(1);
    // No notice comes.
    const [name] = await client.zrange(queue, "0", "-1");
    await client.zadd(queue, "+inf", name!);
    first.end();
    expect((await all(await second.run)).at(-1)).toEqual({ state: "stopped" });
    expect(begun).toEqual(["A"]);
  });

  it("stops the run where it is told to, which ends as stopped for each reader", async () => {
    const { runs, start } = place();
    const { work, say } = spoken();
    const first = await runs[0].start("s", { turnId: "A" }, work);
    say("a");
    const next = start(runs[1], "B", how("stop", "b"));
    for (const reader of [first, runs[1].join("s", { turnId: "A" })]) {
      expect((await all(reader)).at(-1)).toEqual({ state: "stopped" });
    }
    next.end();
    expect((await all(await next.run)).at(-1)).toEqual({ state: "done" });
  });

  it("goes in front of those that queue where it stopped the run", async () => {
    const { runs, begun, waiting, start } = place();
    const first = start(runs[0], "A");
    await first.run;
    const queued = start(runs[0], "B", how("queue", "b"));
    await waiting(1);
    const front = start(runs[1], "C", how("stop", "c"));
    await waiting(2);
    first.end();
    await front.run;
    expect(begun).toEqual(["A", "C"]);
    front.end();
    queued.end();
    expect((await all(await queued.run)).at(-1)).toEqual({ state: "done" });
    expect(begun).toEqual(["A", "C", "B"]);
  });

  it("reads the run of another start of its turn that was in front, and answers a question once", async () => {
    const { runs, begun, waiting, start } = place();
    const first = start(runs[0], "A");
    await first.run;
    const both = [start(runs[0], "B", how("queue", "b")), start(runs[1], "B", how("queue", "b"))];
    both.forEach(({ end }) => end());
    await waiting(2);
    first.end();
    for (const { run } of both) {
      expect((await all(await run)).map((item) => ("chunk" in item ? item.chunk : item))).toEqual([
        "B",
        { state: "done" },
      ]);
    }
    expect(begun).toEqual(["A", "B"]);
    // Asked again behind it, the work decides: its memory answers with what is stored.
    const again = start(runs[1], "B", how("queue", "b"));
    again.end();
    await all(await again.run);
    expect(begun).toEqual(["A", "B", "B"]);
  });

  it("is refused when the session got another owner meanwhile, and when the memory was closed", async () => {
    const { memories, runs, begun, waiting, start } = place();
    const first = start(runs[0], "A");
    await first.run;
    const second = start(runs[0], "B", { owner: "ann", ...how("queue", "b") });
    await waiting(1);
    const third = start(runs[1], "C", how("queue", "c"));
    await waiting(2);
    await memories[0].history("s", { owner: "bob" }).addMessages([human("Hi")]);
    await memories[1].close();
    await expect(third.run).rejects.toMatchObject({ code: "closed" });
    first.end();
    await expect(second.run).rejects.toMatchObject({ code: "other_owner" });
    expect(begun).toEqual(["A"]);
  });
});

const config = sessionConfig({ sessionId: "s", turnId: "t" });
const many = Array.from({ length: 10_000 }, (_, word) => `w${word} `);

describe.each(plainAndEncrypted)("a run that is stopped, %s", (_, form) => {
  const closed = closedAfterEach();

  it("is known, read and stopped by another instance before its work begins to stream", async () => {
    const { runs } = twoInstances(form);
    let called = () => {};
    const isCalled = new Promise<void>((resolve) => (called = resolve));
    const starting = runs[0].start("s", { turnId: "t" }, (signal) => {
      called();
      return new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      });
    });
    await isCalled;
    expect(await runs[1].active("s")).toMatchObject({ turnId: "t", state: "running" });
    const readers = [all(runs[0].join("s")), all(runs[1].join("s"))];
    expect(await runs[1].stop("s")).toBe(true);
    readers.push(all(await starting));
    for (const items of await Promise.all(readers)) {
      expect(items).toEqual([{ state: "stopped" }]);
    }
  });

  it.each([
    ["chain", "stop"],
    ["agent", "stop"],
    ["chain", "close"],
    ["agent", "close"],
  ] as const)("has stored exactly what its readers saw when they hear of it (%s, by %s)", async (kind, how) => {
    const { memories, runs } = twoInstances(form);
    const memory = memories[0];
    const chain = withRedisMemory(new SlowModel(many), { memory });
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: new SlowModel(many), tools: [], middleware });
    const input = { messages: [{ role: "user" as const, content: "hi" }] };
    const own = await runs[0].start("s", { turnId: "t" }, async (signal): Promise<AsyncIterable<unknown>> => {
      return kind === "chain"
        ? chain.stream("hi", { ...config, signal })
        : agent.stream(input, { ...config, signal, streamMode: "messages" });
    });
    const local = all(own);
    let said = "";
    let closing: Promise<void> | undefined;
    for await (const item of runs[1].join("s")) {
      if ("id" in item) {
        said += textOf(item);
        await (said.split(" ").length === 5 && how === "stop" ? runs[1].stop("s") : undefined);
        closing ??= said.split(" ").length === 5 && how === "close" ? memory.close() : undefined;
      } else {
        expect(item).toEqual({ state: "stopped" });
        const stored = (await memories[1].history("s").getMessages()).at(-1)!;
        expect(stored).toMatchObject({ text: said, response_metadata: { interrupted: true } });
      }
    }
    expect((await local).map(textOf).join("")).toBe(said);
    await closing;
  });

  it("hears of it also where the connection that waits for mail went silent", async () => {
    const { hostname: host, port } = new URL(sharedRedisUrl());
    let mute = () => {};
    let isNextMuted = false;
    const isMuted = new Promise<void>((resolve) => (mute = resolve));
    const proxy = closed(
      await startTcpProxy({ host, port: Number(port) }, (client, upstream) => {
        let isOpen = true;
        client.on("data", (data) => {
          if (isNextMuted && /xread/i.test(data.toString("latin1"))) {
            isOpen = isNextMuted = false;
            mute();
          }
          return isOpen && upstream.write(data);
        });
        upstream.on("data", (data) => client.write(data));
      }),
    );
    const redis = { keyPrefix: uniquePrefix() };
    const far = closed(new RedisChatMemory({ url: `redis://127.0.0.1:${proxy.port}`, redis }));
    const runs = [redisRuns(far, calm), redisRuns(newMemory({ redis }), calm)] as const;
    const { work, say } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    say("a");
    const remote = runs[1].join("s")[Symbol.asyncIterator]();
    expect((await remote.next()).value).toMatchObject({ chunk: "a" });
    isNextMuted = true;
    await isMuted;
    expect(await runs[1].stop("s")).toBe(true);
    const items = await all(run);
    expect([chunksOf(items), items.at(-1)]).toEqual([["a"], { state: "stopped" }]);
  });
});

/** The text of an item of a chain's stream, or of an agent's in the mode `messages`. */
function textOf(item: RunItem): string {
  const chunk = "chunk" in item ? item.chunk : undefined;
  const message = (Array.isArray(chunk) ? chunk[0] : chunk) as { readonly text: string } | undefined;
  return message?.text ?? "";
}
