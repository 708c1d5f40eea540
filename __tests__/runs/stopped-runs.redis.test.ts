import { createAgent } from "langchain";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { redisRuns, type RunItem } from "langchain-redis-memory/runs";
import { startTcpProxy } from "../../tools/testkit/proxies/tcp-proxy.js";
import { SlowModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { closeMemories, newMemory } from "../support/memories.js";
import { plainAndEncrypted } from "../support/test-keys.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { calm, all, chunksOf, spoken, twoInstances } from "./spoken-source.js";

afterEach(closeMemories);

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
