import { HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { sessionConfig, withRedisMemory, type RedisChatMemory } from "langchain-redis-memory";
import { redisRuns } from "langchain-redis-memory/runs";
import { calm, all, chunksOf, first, spoken, twoInstances } from "./spoken-source.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { newMemory } from "../support/memories.js";
import { echoModel } from "../support/scripted-model.js";
import { sharedRedisUrl, sharedClient } from "../support/shared-redis.js";
import { plainAndEncrypted, testKeys } from "../support/test-keys.js";
import { runKeys } from "../../src/store/redis/keys.js";
import { ChunkReader } from "../../src/runs/chunk-text.js";

describe.each(plainAndEncrypted)("a run, %s", (_, form) => {
  const closed = closedAfterEach();

  it("outlives a reader that leaves it, and a reader that is aborted gets no end", async () => {
    const { runs } = twoInstances(form);
    const { work, say, end } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    const leaving = new AbortController();
    const left = all(runs[1].join("s", { signal: leaving.signal }));
    say("a");
    expect(chunksOf(await first(run, 1))).toEqual(["a"]);
    leaving.abort();
    expect((await left).every((item) => "id" in item)).toBe(true);
    say("b");
    end();
    expect(chunksOf(await all(runs[1].join("s")))).toEqual(["a", "b"]);
  });

  it("is stopped from another process, and ends as stopped", async () => {
    const { runs } = twoInstances(form);
    const { work, say } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    say("a");
    expect(await runs[1].active("s")).toEqual({ turnId: "t", state: "running", since: expect.any(Number) as number });
    expect(await runs[1].stop("s", { turnId: "other" })).toBe(false);
    expect(await runs[1].stop("s", { turnId: "t" })).toBe(true);
    expect((await all(run)).at(-1)).toEqual({ state: "stopped" });
    expect(await runs[1].stop("s")).toBe(false);
    expect(await runs[1].active("s")).toBeUndefined();
  });

  it("is one for a session: another turn is refused, the same turn joins it", async () => {
    const { runs } = twoInstances(form);
    const { work, say, end } = spoken();
    await runs[0].start("s", { turnId: "t" }, work);
    const other = () => runs[1].start("s", { turnId: "u" }, spoken().work);
    await expect(other()).rejects.toMatchObject({ code: "busy", retryable: true });
    const again = await runs[1].start("s", { turnId: "t" }, () => Promise.reject(new Error("not called")));
    say("a");
    end();
    expect(chunksOf(await all(again))).toEqual(["a"]);
  });

  it("is followed by those that queue, in the order in which they came, within their patience", async () => {
    const { runs, keyPrefix } = twoInstances(form);
    const client = closed(new Redis(sharedRedisUrl()));
    const queue = `${keyPrefix}:{s}:run:queue`;
    const begun: string[] = [];
    const turns = new Map(["1", "2", "3", "4"].map((turnId) => [turnId, spoken()]));
    const start = (instance: number, turnId: string, how: object = {}) =>
      runs[instance]!.start("s", { turnId, whileRunning: "queue", ...how }, (signal) => {
        begun.push(turnId);
        return turns.get(turnId)!.work(signal);
      });
    const untilWaiting = async (count: number) => {
      while ((await client.zcard(queue)) < count) {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await start(0, "1");
    const leaving = new AbortController();
    const waiting = [start(1, "2")];
    await untilWaiting(1);
    const left = start(0, "4", { signal: leaving.signal });
    await untilWaiting(2);
    waiting.push(start(0, "3"));
    await untilWaiting(3);
    leaving.abort(new Error("left"));
    await expect(left).rejects.toThrow("left");
    await expect(start(1, "4", { waitMs: 1 })).rejects.toMatchObject({ code: "busy" });
    const others = Array.from({ length: 20 }, (_, index) => `other ${index}`);
    await client.zadd(queue, ...others.flatMap((name, index) => [100 + index, name]));
    await expect(start(1, "4")).rejects.toMatchObject({ code: "busy" });
    await client.zrem(queue, ...others);
    for (const turnId of ["1", "2", "3"]) {
      await (turnId === "1" ? undefined : waiting[Number(turnId) - 2]);
      turns.get(turnId)!.end();
    }
    expect((await all(await waiting[1]!)).at(-1)).toEqual({ state: "done" });
    expect(begun).toEqual(["1", "2", "3"]);
  });

  it("does not wait behind a start whose process died in the queue", async () => {
    const { runs, keyPrefix } = twoInstances(form, { lostAfterMs: 100, batchMs: 1 });
    const client = closed(new Redis(sharedRedisUrl()));
    await client.zadd(`${keyPrefix}:{s}:run:queue`, 0, "nobody 1");
    const { work, end } = spoken();
    end();
    expect(await all(await runs[0].start("s", { turnId: "t", whileRunning: "queue" }, work))).toEqual([
      { state: "done" },
    ]);
  });

  it("ends as failed with the code of the error, never its text", async () => {
    const { runs } = twoInstances(form);
    const { work, say, fail } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    say("a");
    fail(new TypeError("secret"));
    const ends = await Promise.all([all(run), all(runs[1].join("s"))]);
    for (const items of ends) {
      expect(items.at(-1)).toEqual({ state: "failed", error: "TypeError" });
    }
  });

  it("rejects at the start where the work fails before it streams, and leaves the session free", async () => {
    const { runs } = twoInstances(form);
    const start = () => runs[0].start("s", { turnId: "t" }, () => Promise.reject(new RangeError("no")));
    await expect(start()).rejects.toThrow(RangeError);
    await expect(start()).rejects.toThrow(RangeError);
    expect((await all(runs[1].join("s"))).at(-1)).toEqual({ state: "failed", error: "RangeError" });
    const notIterable = () => runs[0].start("s", { turnId: "t" }, () => "text" as never);
    await expect(notIterable()).rejects.toMatchObject({ code: "invalid_option", option: "work" });
  });

  it("gives each reader the value of the moment at which it was yielded, an own one, the same everywhere", async () => {
    const { runs } = twoInstances(form);
    const grown: { text: string; message: HumanMessage; bytes: Uint8Array; none?: undefined; set: Set<string> } = {
      text: "",
      message: new HumanMessage("hi"),
      bytes: new Uint8Array([1]),
      none: undefined,
      set: new Set(["a"]),
    };
    const run = await runs[0].start("s", { turnId: "t" }, async function* () {
      for (const letter of "abc") {
        grown.text += letter;
        grown.bytes[0] = grown.text.length;
        yield grown;
        await new Promise(setImmediate);
      }
    });
    const read = async (reader: typeof run) => {
      const chunks: unknown[] = [];
      for await (const item of reader) {
        if ("chunk" in item) {
          chunks.push(
            structuredClone({ ...(item.chunk as object), message: String((item.chunk as typeof grown).message.text) }),
          );
          // What a reader does to its own concerns no other.
          Object.assign(item.chunk as object, { text: "changed" });
          (item.chunk as typeof grown).message.content = "changed";
        }
      }
      return chunks;
    };
    const here = [run, run, runs[0].join<typeof grown>("s")];
    const there = [runs[1].join<typeof grown>("s"), runs[1].join<typeof grown>("s")];
    for (const chunks of await Promise.all([...here, ...there].map(read))) {
      expect(chunks).toStrictEqual(
        ["a", "ab", "abc"].map((text) => ({
          text,
          message: "hi",
          bytes: new Uint8Array([text.length]),
          set: new Set(["a"]),
        })),
      );
    }
  });

  it("is not read behind a position of another turn's run", async () => {
    const { runs } = twoInstances(form);
    const play = async (turnId: string) =>
      all(
        await runs[0].start("s", { turnId }, async function* () {
          yield* [`${turnId} 1`, `${turnId} 2`, `${turnId} 3`];
        }),
      );
    const [[, second], others] = [await play("A"), await play("B")];
    const after = (second as { id: string }).id;
    for (const reader of runs) {
      expect(await all(reader.join("s", { turnId: "B", after }))).toEqual([{ reset: true }, ...others]);
      expect(await all(reader.join("s", { turnId: "none", after }))).toEqual([{ reset: true }]);
      expect(chunksOf(await all(reader.join("s", { turnId: "A", after })))).toEqual(["A 3"]);
      expect(chunksOf(await all(reader.join("s", { after })))).toEqual(["A 3"]);
    }
  });

  it("waits for a human where the graph was interrupted, for a day", async () => {
    const { runs, keyPrefix } = twoInstances(form);
    const client = closed(new Redis(sharedRedisUrl()));
    const { work, say, end } = spoken();
    const run = await runs[0].start("s", { turnId: "t" }, work);
    say(["updates", { __interrupt__: [{ value: "sure?" }] }]);
    end();
    expect((await all(run)).at(-1)).toEqual({ state: "waiting" });
    expect(await runs[1].active("s")).toMatchObject({ state: "waiting" });
    expect(await client.pttl(`${keyPrefix}:{s}:run`)).toBeGreaterThan(23 * 3_600_000);
    const { work: resumed, end: endResumed } = spoken();
    const next = await runs[1].start("s", { turnId: "t" }, resumed);
    endResumed();
    expect(await all(next)).toEqual([{ state: "done" }]);
    expect(await client.pttl(`${keyPrefix}:{s}:run`)).toBeLessThanOrEqual(120_000);
  });

  it("is closed to other owners", async () => {
    const { runs } = twoInstances(form);
    const { work } = spoken();
    await runs[0].start("s", { turnId: "t", owner: "ann" }, work);
    const refused = { code: "other_owner" };
    await expect(all(runs[1].join("s", { owner: "bob" }))).rejects.toMatchObject(refused);
    await expect(runs[1].stop("s", { owner: "bob" })).rejects.toMatchObject(refused);
    await expect(runs[1].active("s", { owner: "bob" })).rejects.toMatchObject(refused);
    await expect(runs[1].start("s", { turnId: "u", owner: "bob" }, work)).rejects.toMatchObject(refused);
    expect(await runs[1].active("s", { owner: "ann" })).toMatchObject({ turnId: "t" });
  });

  it.each(["delete", "clear"] as const)(
    "ends for all readers behind a %s, also while its work is silent",
    async (how) => {
      const { runs, memories } = twoInstances(form, { batchMs: 1 });
      await memories[0].history("s").addMessages([new HumanMessage("hi")]);
      const run = await runs[0].start("s", { turnId: "t" }, async function* (signal) {
        yield "a";
        await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      });
      const ends = [run, runs[1].join("s")].map((reader) =>
        all(reader).catch((error: { code: string }) => [error.code]),
      );
      await first(runs[1].join("s"), 1);
      await (how === "delete" ? memories[1].sessions.delete("s") : memories[1].history("s").clear());
      const [local, remote] = (await Promise.all(ends)).map((items) => items.at(-1));
      expect(local).toEqual({ state: "failed", error: "erased" });
      expect(["erased", { state: "lost" }]).toContainEqual(remote);
    },
  );

  it("goes on for a reader whose process is closed, on another one", async () => {
    const { runs, memories, keyPrefix } = twoInstances(form);
    const third = redisRuns(newMemory({ ...form, redis: { keyPrefix } }), calm);
    const { work, say, end } = spoken();
    await runs[0].start("s", { turnId: "t" }, work);
    say("a");
    const reader = runs[1].join("s")[Symbol.asyncIterator]();
    const { id: after } = (await reader.next()).value as { id: string };
    const [following, page] = [reader.next(), new Response(runs[1].join("s").toSSE()).text()];
    await first(runs[1].join("s"), 1);
    await memories[1].close();
    // Neither is told that the run was reset, or that it ended.
    await expect(following).rejects.toMatchObject({ name: "StoreError", code: "closed" });
    expect(await page).toMatch(/^id: [\d:-]+\ndata: "a"\n\n$/);
    say("b");
    end();
    expect(await all(third.join("s", { after }))).toMatchObject([{ chunk: "b" }, { state: "done" }]);
  });
});

describe("a run of a memory that encrypts", () => {
  const closed = closedAfterEach();

  it("is encrypted in Redis, and read by who has the key", async () => {
    const { runs, keyPrefix } = twoInstances({ encryption: testKeys("k1") });
    const client = closed(new Redis(sharedRedisUrl()));
    const { work, say, end } = spoken();
    await runs[0].start("s", { turnId: "t" }, work);
    say("a secret");
    end();
    expect(chunksOf(await all(runs[1].join("s")))).toEqual(["a secret"]);
    expect(JSON.stringify(await client.xrange(`${keyPrefix}:{s}:run`, "-", "+"))).not.toContain("secret");
    const without = redisRuns(newMemory({ redis: { keyPrefix } }), calm);
    await expect(all(without.join("s"))).rejects.toMatchObject({ code: "unknown_key" });
  });
});

describe.each(plainAndEncrypted)("a run of a chain with memory, %s", (_, form) => {
  const closed = closedAfterEach();
  const ask = (memory: RedisChatMemory, turnId: string, text: string) => {
    const chat = withRedisMemory(echoModel(), { memory });
    return (signal: AbortSignal) => chat.stream(text, { ...sessionConfig({ sessionId: "s", turnId }), signal });
  };

  it("has stored the turn when its end is told, and is the stored answer from then on", async () => {
    const { runs, memories, keyPrefix } = twoInstances(form);
    const client = closed(new Redis(sharedRedisUrl()));
    const run = await runs[0].start("s", { turnId: "t" }, ask(memories[0], "t", "hello"));
    let stored = 0;
    for await (const item of runs[1].join("s")) {
      stored = "state" in item ? (await memories[1].history("s").getMessages()).length : stored;
    }
    expect(stored).toBe(2);
    expect((await all(run)).at(-1)).toEqual({ state: "done" });
    await client.unlink(`${keyPrefix}:{s}:run`);
    const late = await all(runs[1].join("s", { turnId: "t" }));
    const chunk = expect.objectContaining({ content: "reply to hello" }) as object;
    expect(late).toEqual([{ chunk, stored: true }, { state: "done" }]);
    const after = "1700000000000-3:1";
    expect(await all(runs[1].join("s", { turnId: "t", after }))).toEqual([{ reset: true }, ...late]);
    expect(await all(runs[1].join("s", { turnId: "other" }))).toEqual([]);
  });

  it("is a stream of one chunk where the turn is stored already", async () => {
    const { runs, memories } = twoInstances(form);
    await all(await runs[0].start("s", { turnId: "t" }, ask(memories[0], "t", "hello")));
    const again = await all(await runs[1].start("s", { turnId: "t" }, ask(memories[1], "t", "hello")));
    expect(chunksOf(again)).toMatchObject([{ content: "reply to hello" }]);
  });
});

const client = sharedClient();

const corrupt = { name: "RecordError", code: "corrupt" };

describe("What cannot be read of runs in Redis", () => {
  it.each(["[", "null", '["x",null,{"kind":"stop"}]', '{"kind":"stop"}'])(
    "does not end the mail of a process: %s",
    async (notice) => {
      const { runs, keyPrefix } = twoInstances();
      const { work, say } = spoken();
      const run = await runs[0].start("s", { turnId: "t" }, work);
      const own = all(run);
      const [mail] = await client.keys(`${keyPrefix}:{process:*}:mail`);
      await client.xadd(mail!, "*", "m", notice);
      say("a");
      const reader = all(runs[1].join("s"));
      // The stop is a notice behind the one that cannot be read.
      await runs[1].stop("s");
      expect((await own).at(-1)).toEqual({ state: "stopped" });
      expect((await reader).at(-1)).toEqual({ state: "stopped" });
    },
  );

  it.each(["{", "null", '{"turnId":1}'])("is refused by a typed error: facts %s", async (facts) => {
    const { runs, keyPrefix } = twoInstances();
    await client.xadd(runKeys(keyPrefix, "s").run, "1700000000000-0", "m", facts);
    await expect(runs[0].active("s")).rejects.toMatchObject(corrupt);
    await expect(runs[0].stop("s")).rejects.toMatchObject(corrupt);
    await expect(runs[0].start("s", { turnId: "t" }, spoken().work)).rejects.toMatchObject(corrupt);
  });

  it("is refused by a typed error, which quotes nothing: chunks", () => {
    for (const text of ["secret", "{}", '[{"$lcmem":["=",7]}]', '[{"$lcmem":null}]', '[{"$lcmem":["Date"]}]']) {
      expect(() => new ChunkReader().chunks(text)).toThrow(expect.objectContaining(corrupt));
    }
    expect(() => new ChunkReader().chunks("secret")).not.toThrow(/secret/);
  });
});
