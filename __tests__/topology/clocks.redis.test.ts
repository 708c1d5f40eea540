import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import {
  ChatHistorySummarizationReducer,
  RedisChatMemory,
  type MemoryEvent,
  withRedisMemory,
} from "langchain-redis-memory";
import { validateConversation } from "langchain-redis-memory/structure";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { redisRuns } from "langchain-redis-memory/runs";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { asRead, records } from "../../testing/session-store/store-case.js";
import { writeWhile } from "../support/busy-writers.js";
import { ToolModel } from "../support/agents.js";
import { startGate } from "../../tools/testkit/proxies/gate.js";
import { startFakedClockRedis, type FakedClockRedis } from "../../tools/testkit/clocks/faked-clock.js";
import { compare, nothingBroken } from "../support/journal-check.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { ownServer } from "../support/own-server.js";
import { uniquePrefix } from "../support/shared-redis.js";

const hour = 3_600;

describe("A server whose clock jumps", () => {
  const own = ownServer(() => startFakedClockRedis(0, ["--repl-diskless-sync-delay", "0"]));
  let server: FakedClockRedis;
  let client: Redis;
  let keyPrefix: string;
  beforeAll(() => {
    ({ server, client } = own);
  });
  beforeEach(() => {
    server.shiftClock(0);
    keyPrefix = uniquePrefix();
  });

  const expiries = async (session: string) => {
    const { log, ids, state } = sessionKeys(keyPrefix, session);
    return Promise.all([log, ids, state].map((key) => client.call("PEXPIRETIME", key)));
  };
  const untilGone = async (session: string) => {
    while ((await client.exists(sessionKeys(keyPrefix, session).state)) === 1) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  /** What a model says while the session that asked it expires. */
  const afterExpiry = (session: string) =>
    new ToolModel(async () => {
      server.shiftClock(hour);
      await untilGone(session);
      return new AIMessage({ id: "answer", content: "answer" });
    });

  it("by an hour, forth and back, under writers: nothing is lost, doubled, torn or out of order", async () => {
    const journal = await writeWhile({ clients: [client, client], atLeast: 60, commandTimeout: 60_000 }, async () => {
      for (const shift of [hour, -hour, 0]) {
        server.shiftClock(shift);
        const seconds = Number((await client.time())[0]);
        expect(Math.abs(seconds - shift - Date.now() / 1_000)).toBeLessThan(60);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    });
    expect(await compare(journal, client)).toMatchObject(nothingBroken);
    expect(journal.failures).toEqual({});
  });

  it("lets a session with a longer life live, all keys to one moment, and end as a whole", async () => {
    const store = new RedisSessionStore({ client, keyPrefix });
    for (const [index, shift] of [0, hour, -hour].entries()) {
      server.shiftClock(shift);
      const next = 2 * (index + 1);
      const added = records("a", next).slice(-2);
      expect(await store.append({ id: "s" }, { records: added, ttlMs: 2 * hour * 1_000 })).toMatchObject({ next });
      const [moment, ...others] = await expiries("s");
      expect(others).toEqual([moment, moment]);
      const life = Number(moment) / 1_000 - shift - Date.now() / 1_000;
      expect(Math.abs(life - 2 * hour)).toBeLessThan(60);
    }
    const { epoch } = await store.readView({ id: "s" });
    server.shiftClock(2 * hour);
    await untilGone("s");
    expect(await store.readView({ id: "s" })).toMatchObject({ epoch: "", records: [], damaged: false });
    expect(await store.append({ id: "s" }, { records: records("a", 1) })).toMatchObject({ appended: 1, next: 1 });
    expect((await store.readView({ id: "s" })).epoch).not.toBe(epoch);
  });

  it("back by an hour frees what dead processes held in the time of their leases, and no living one", async () => {
    const { hostname: host, port } = new URL(server.url);
    const gate = await startGate(`redis://${host}:${port}`);
    const redis = { keyPrefix };
    const far = new RedisChatMemory({ url: `redis://127.0.0.1:${gate.port}`, redis });
    const near = new RedisChatMemory({ client, redis });
    const [farRuns, nearRuns] = [redisRuns(far, { lostAfterMs: 600 }), redisRuns(near, { lostAfterMs: 600 })];
    const held = async (memory: RedisChatMemory, session: string, ended: Promise<unknown>) => {
      let begin = () => {};
      const begun = new Promise<void>((resolve) => (begin = resolve));
      const turn = memory.withTurn(session, () => (begin(), ended), { holdMs: 600 });
      turn.catch(() => undefined);
      await begun;
      return { turn };
    };
    let end = () => {};
    const living = await held(near, "living", new Promise<void>((resolve) => (end = resolve)));
    await held(far, "dead", new Promise(() => undefined));
    const silent = async function* (signal: AbortSignal) {
      yield "a";
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    };
    const run = await farRuns.start("run", { turnId: "t" }, silent);
    gate.block();
    server.shiftClock(-hour);
    expect(await near.withTurn("dead", () => "free", { holdMs: 600, waitMs: 10_000 })).toBe("free");
    const next = await nearRuns.start("run", { turnId: "u", whileRunning: "queue", waitMs: 10_000 }, silent);
    await nearRuns.stop("run");
    for await (const _ of next);
    end();
    await expect(living.turn).resolves.toBeUndefined();
    gate.heal();
    for await (const _ of run);
    await Promise.all([far.close(), near.close()]);
    await gate.stop();
  });

  it("ends the lease of a holder that sleeps: another pays, and the one that wakes changes nothing", async () => {
    let wake = () => undefined as void;
    let asked = () => undefined as void;
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    const summary = (name: string, pause: Promise<void>) => {
      const model = new ScriptedModel(async () => {
        asked();
        await pause;
        return `summary by ${name}`;
      });
      const reducer = new ChatHistorySummarizationReducer({ model, targetCount: 2, thresholdCount: 1 });
      return new RedisChatMemory({ client, redis: { keyPrefix }, reducer, reduceWhen: "never" }).history("s");
    };
    const asleep = summary("sleeper", new Promise<void>((resolve) => (wake = resolve)));
    const awake = summary("other", Promise.resolve());
    await awake.addMessages(
      [1, 2, 3].flatMap((turn) => [
        new HumanMessage({ id: `q${turn}`, content: `question ${turn}` }),
        new AIMessage({ id: `a${turn}`, content: `answer ${turn}` }),
      ]),
    );
    const sleeping = asleep.reduceView();
    await isAsked;
    await expect(awake.reduceView()).rejects.toMatchObject({ code: "stale" });
    server.shiftClock(hour);
    expect(await awake.reduceView()).toMatchObject({ changed: true });
    const reduced = await awake.getMessages();
    expect(reduced[0]!.text).toContain("summary by other");
    wake();
    // It lost its race, read what the other had made, and found nothing to do.
    expect(await sleeping).toMatchObject({ changed: false });
    expect((await awake.getMessages()).map(({ text }) => text)).toEqual(reduced.map(({ text }) => text));
    expect(await awake.getTranscript()).toHaveLength(6);
  });

  /** A run whose session expires while the model answers: what is stored then, and what was told. */
  const runPastExpiry = async (run: (memory: RedisChatMemory, question: HumanMessage) => Promise<unknown>) => {
    const told: string[] = [];
    const onEvent = (event: MemoryEvent) => void (event.type === "turn_not_stored" && told.push(event.type));
    const memory = new RedisChatMemory({ client, redis: { keyPrefix }, sessionTTL: 60, onEvent });
    await memory.history("s").addMessages([new HumanMessage("before"), new AIMessage("before")]);
    await run(memory, new HumanMessage({ id: "question", content: "question" }));
    const stored = await memory.history("s").getMessages();
    expect(validateConversation(stored)).toEqual([]);
    return { stored: stored.map(({ id }) => id), told };
  };
  const config = { configurable: { sessionId: "s" } };
  const wholeTurn = { stored: ["question", "answer"], told: [] };
  // The question is gone with its session; the answer alone would be no conversation.
  const nothing = { stored: [], told: ["turn_not_stored"] };

  const turns = [
    ["turn", wholeTurn],
    ["step", nothing],
  ] as const;

  it.each(turns)("stores the whole turn of a chain or none, and says so (persist: %s)", async (persist, expected) => {
    const found = await runPastExpiry(async (memory, question) => {
      const chain = withRedisMemory(afterExpiry("s"), { memory, persist, oneTurnAtATime: false });
      expect((await chain.invoke([question], config)).text).toBe("answer");
    });
    expect(found).toEqual(expected);
  });

  it.each(turns)("stores the whole turn of an agent or none, and says so (persist: %s)", async (persist, expected) => {
    const found = await runPastExpiry(async (memory, question) => {
      const middleware = [redisMemoryMiddleware({ memory, persist, oneTurnAtATime: false })];
      await createAgent({ model: afterExpiry("s"), tools: [], middleware }).invoke({ messages: [question] }, config);
    });
    expect(found).toEqual(expected);
  });

  it.each([
    ["chain", (memory: RedisChatMemory) => withRedisMemory(afterExpiry("s"), { memory, persist: "turn" })],
    [
      "agent",
      (memory: RedisChatMemory) =>
        createAgent({
          model: afterExpiry("s"),
          tools: [],
          middleware: [redisMemoryMiddleware({ memory, persist: "turn" })],
        }),
    ],
  ] as const)("stores nothing of a turn of a held %s whose session expired, and rejects", async (_, door) => {
    const found = await runPastExpiry(async (memory, question) => {
      const input = { messages: [question] };
      const isRun = door(memory);
      const run = "graph" in isRun ? isRun.invoke(input, config) : isRun.invoke([question], config);
      await expect(run).rejects.toThrow(/expired/);
    });
    expect(found.stored).toEqual([]);
  });

  it("on a replica that is promoted with an old clock: sessions go on, and expire as a whole", async () => {
    const old = await startFakedClockRedis(-hour, ["--replicaof", "127.0.0.1", String(server.port)]);
    const promoted = new Redis(old.url);
    try {
      const writer = new RedisSessionStore({ client, keyPrefix, waitReplicas: 1 });
      const first = { records: records("a", 4), ttlMs: 60_000 };
      while (!(await promoted.info("replication")).includes("master_link_status:up")) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      await writer.append({ id: "s" }, first);
      const view = await writer.readView({ id: "s" });
      await promoted.replicaof("NO", "ONE");
      const store = new RedisSessionStore({ client: promoted, keyPrefix });
      expect(await store.append({ id: "s" }, first)).toMatchObject({ appended: 0, duplicates: 4, next: 4 });
      expect(await store.append({ id: "s" }, { records: records("a", 6).slice(4), ttlMs: 60_000 })).toMatchObject({
        next: 6,
      });
      expect(await store.commitReduction({ id: "s" }, { ...asRead(view), start: 2, head: "h", headCount: 1 })).toBe(
        "committed",
      );
      const { log, ids, state } = sessionKeys(keyPrefix, "s");
      const times = await Promise.all([log, ids, state].map((key) => promoted.call("PEXPIRETIME", key)));
      expect(new Set(times).size).toBe(1);
      old.shiftClock(0);
      expect(await store.readView({ id: "s" })).toMatchObject({ epoch: "", records: [], damaged: false });
    } finally {
      promoted.disconnect();
      await old.stop();
    }
  });
});
