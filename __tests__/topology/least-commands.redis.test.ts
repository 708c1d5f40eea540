import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { ChatHistoryTruncationReducer, RedisChatMemory, sessionConfig } from "langchain-redis-memory";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { RedisToolInvocationHistory } from "langchain-redis-memory/openai";
import { redisRuns, type RedisRuns, type Run } from "langchain-redis-memory/runs";
import { startContractServer } from "../contract/contract-server.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { asRead, records } from "../../testing/session-store/store-case.js";
import { identify } from "../support/store-commands.js";
import { ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { allLeastCommands, leastCommands, partCommands } from "../support/least-commands.js";
import { refusals } from "../../tools/testkit/servers/least-user.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { ownServer } from "../support/own-server.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

/** Those that one server without replicas never gets, and those that the contract does not meet. */
const elsewhere: readonly string[] = [...leastCommands.cluster, "exists", ...leastCommands.encryption];

describe("A Redis user with the least commands", () => {
  const closed = closedAfterEach();
  const own = ownServer(startContractServer);

  const open = async (name: string, commands: readonly string[], keys = "~*") => {
    await own.client.call(
      "ACL",
      "SETUSER",
      name,
      "reset",
      "on",
      ">pw",
      keys,
      ...commands.map((command) => `+${command}`),
    );
    const client = new Redis(own.server.url, { username: name, password: "pw", enableReadyCheck: false });
    client.on("error", () => undefined);
    return client;
  };

  describe("keeps the contract", () => {
    let client: Redis;
    beforeAll(async () => {
      client = await open("least", allLeastCommands);
    });
    afterAll(() => client.disconnect());
    let keyPrefix: string;
    for (const { title, run } of sessionStoreContract({
      create: () => new RedisSessionStore({ client, keyPrefix: (keyPrefix = uniquePrefix()) }),
      damage: (_, sessionId) => own.client.unlink(sessionKeys(keyPrefix, sessionId).ids),
      wait: (milliseconds) => own.server.wait(milliseconds),
    })) {
      it(title, () => run());
    }
  });

  it("needs every one of them: without it an operation that has a name is refused, or the contract", async () => {
    const counts = await own.client.info("commandstats");
    const inContract = (command: string) => (counts.includes(`cmdstat_${command}:`) ? "the contract" : undefined);
    const isNeeded = async (command: string) => {
      const rest = allLeastCommands.filter((name) => name !== command);
      const client = closed(await open(`without-${command.replace("|", "-")}`, rest));
      return ((await refusedOperation(client, command)) ?? inContract(command)) !== undefined;
    };
    // All at once, because each waits for replicas that there are not.
    const names = allLeastCommands.filter((name) => !elsewhere.includes(name));
    const needed = await Promise.all(names.map(isNeeded));
    expect(names.filter((_, index) => !needed[index])).toEqual([]);
  });

  it("is refused nothing by what the doors do", async () => {
    await own.client.call("ACL", "LOG", "RESET");
    const client = closed(await open("least", allLeastCommands));
    expect(await refusedOperation(client)).toBeUndefined();
    expect(await refusals(own.client)).toEqual([]);
  });

  it("and those of threads is refused nothing by them", async () => {
    await own.client.call("ACL", "LOG", "RESET");
    const client = closed(await open("threads", [...allLeastCommands, ...partCommands.RedisSaver]));
    const ttl = { seconds: 60, refreshOnRead: true };
    const keyPrefix = uniquePrefix();
    const saver = new RedisSaver({ client, keyPrefix, keep: 1, threadTTL: ttl });
    const metadata = { source: "loop", step: 0, parents: {} } as const;
    const thread = { configurable: { thread_id: "t" } };
    const configs = [thread];
    for (let step = 1; step <= 12; step += 1) {
      const values = { channel_values: { list: [`${step} `.repeat(99)] }, channel_versions: { list: step } };
      const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), ...values };
      configs.push((await saver.put(configs.at(-1)!, checkpoint, metadata, { list: step })) as typeof thread);
      await saver.putWrites(configs.at(-1)!, [["list", ["x"]]], "task");
    }
    await expect(saver.getTuple(configs[1]!)).rejects.toMatchObject({ code: "unknown_checkpoint" });
    expect(await saver.prune("t", { keep: 1 })).toBeGreaterThan(0);
    const begin = (threads: RedisSaver, thread_id: string) =>
      threads.put({ configurable: { thread_id } }, { ...emptyCheckpoint(), id: uuid6(99) }, metadata, {});
    await begin(saver, "other");
    for await (const tuple of saver.list({ configurable: {} }, { filter: { step: 0 } })) {
      expect(await saver.getTuple(tuple.config)).toEqual(tuple);
    }
    expect(await saver.getDeltaChannelHistory({ config: thread, channels: ["list"] })).toHaveProperty("list");
    const encryption = testKeys("k1");
    const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix }, encryption }));
    await begin(new RedisSaver({ memory }), "sealed");
    expect(await memory.sessions.reencrypt()).toMatchObject({ threads: 3, keys: 0, incomplete: 0 });
    const rotating = closed(new RedisChatMemory({ client, redis: { keyPrefix }, encryption: testKeys("k2", "k1") }));
    expect(await rotating.sessions.reencrypt()).toMatchObject({ threads: 3, keys: 3, failed: 0 });
    await saver.deleteThread("t");
    expect(await refusals(own.client)).toEqual([]);
  });

  describe("and those of runs", () => {
    const calm = { lostAfterMs: 600_000 };
    const keyPrefix = uniquePrefix();
    const memoryOf = async (name: string, commands: readonly string[]) => {
      const client = closed(await open(name, [...allLeastCommands, ...commands], `~${keyPrefix}:*`));
      return closed(new RedisChatMemory({ client, redis: { keyPrefix } }));
    };

    it("is refused nothing by them on its own keys, and needs each", async () => {
      await own.client.call("ACL", "LOG", "RESET");
      await own.client.config("RESETSTAT");
      const memories = [await memoryOf("runs", partCommands.redisRuns), await memoryOf("runs", partCommands.redisRuns)];
      const [here, there] = memories.map((memory) => redisRuns(memory, calm)) as [RedisRuns, RedisRuns];
      const [memory] = memories as [RedisChatMemory];
      let isSteered: string | undefined;
      const model = new ToolModel(async () => {
        isSteered ??= await there.steer("s", { role: "user", content: "more", id: "m" });
        return "ok";
      });
      const middleware = [redisMemoryMiddleware({ memory }), steeringMiddleware({ runs: here })];
      const agent = createAgent({ model, tools: [], middleware });
      for (const turnId of ["t", "u"]) {
        const session = sessionConfig({ sessionId: "s", turnId });
        const input = { messages: [{ role: "user" as const, content: "hi" }] };
        await here.start("s", { turnId, whileRunning: "queue" }, (signal) =>
          agent.stream(input, { ...session, signal }),
        );
        expect(await lastOf(there.join("s", { turnId }))).toEqual({ state: "done" });
      }
      expect([isSteered, (await memory.history("s").getTranscript()).length]).toEqual(["steered", 6]);
      const stopped = await here.start("s", { turnId: "v" }, async function* (signal) {
        yield "a";
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      });
      expect(await there.active("s")).toMatchObject({ turnId: "v" });
      expect(await there.stop("s")).toBe(true);
      expect(await lastOf(stopped)).toEqual({ state: "stopped" });
      expect(await refusals(own.client)).toEqual([]);
      const stats = await own.client.info("commandstats");
      expect(partCommands.redisRuns.filter((command) => !stats.includes(`cmdstat_${command}:`))).toEqual([]);
    });

    it.each(partCommands.redisRuns)("without %s is told so when a run starts", async (lacking) => {
      const rest = partCommands.redisRuns.filter((command) => command !== lacking);
      const runs = redisRuns(await memoryOf(`lacks-${lacking}`, rest), calm);
      const start = async (turnId: string) =>
        lastOf(await runs.start(`lacks ${lacking}`, { turnId }, async function* () {}));
      const starting = start("t").then(() => start("u"));
      await expect(starting).rejects.toMatchObject({ code: "unavailable", retryable: false });
      // Redis 7.0 does not name a command that a script may not use.
      const named = new RegExp(`'${lacking}'|script can't`);
      await expect(starting).rejects.toHaveProperty("cause.message", expect.stringMatching(named));
    });
  });
});

/** The last item of a run. */
async function lastOf(run: Run): Promise<unknown> {
  return (await all(run)).at(-1);
}

/** The first operation that the user is not allowed, or undefined. */
async function refusedOperation(client: Redis, lacking?: string): Promise<string | undefined> {
  for (const [name, run] of Object.entries(operations(client))) {
    try {
      await run();
    } catch (error) {
      if (!/permission/.test(String(error))) {
        throw new Error(`${name} without ${lacking ?? "anything missing"}: ${String(error)}`, { cause: error });
      }
      return name;
    }
  }
  return undefined;
}

/** What an application does; with each command of the list at least once. */
function operations(client: Redis): Record<string, () => Promise<unknown>> {
  const keyPrefix = uniquePrefix();
  const store = new RedisSessionStore({ client, keyPrefix });
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
  const memory = new RedisChatMemory({ client, redis: { keyPrefix }, sessionTTL: 60, reducer, retention: "discard" });
  const history = memory.history("s");
  const turn = (name: string) => [
    new HumanMessage({ id: `${name}q`, content: "q" }),
    new AIMessage({ id: `${name}a`, content: "a" }),
  ];
  const lasting = new RedisChatMemory({ client, redis: { keyPrefix } }).history("lasting");
  return {
    "connecting (INFO)": () => client.info(),
    append: () => store.append({ id: "plain" }, { records: records("a", 3) }),
    "append once more": () => store.append({ id: "plain" }, { records: records("a", 4) }),
    "append with a turnId": () => lasting.append(turn("t"), { turnId: "t" }),
    "a repeated turn": () => lasting.append(turn("t"), { turnId: "t" }),
    "append with sessionTTL and a reduction": async () => {
      await history.addMessages(turn("a"));
      await history.addMessages(turn("b"));
    },
    readView: () => store.readView({ id: "plain" }),
    "readView with turns and ids": () => store.readView({ id: "plain" }, { turn: "turn-name-0001", ids: ["a1"] }),
    readLog: () => readLog(store, { id: "plain" }),
    readRounds: () => lasting.getRounds(1),
    rewind: () => lasting.rewind("ta"),
    "side data": async () => {
      const log = new RedisToolInvocationHistory({ memory, sessionId: "tools", limit: 1 });
      for (const id of ["1", "2", "3"]) {
        await log.addInvocation({ name: id, inputs: {}, outputs: {}, status: "success" });
      }
      await log.toList();
      await store.data.writeSide({ id: "plain" }, { set: { a: "1" }, expected: { b: undefined } });
      await store.data.writeSide({ id: "plain" }, { remove: ["a"], expected: { a: "1" } });
    },
    rebuild: async () => {
      await lasting.rebuild();
      await history.rebuild();
      await store.append({ id: "long" }, { records: records("a", 2_000) });
      const read = asRead(await store.readView({ id: "long" }));
      await store.commitReduction({ id: "long" }, { ...read, start: 1, head: "", headCount: 0, discard: true });
      await store.edits.rebuild({ id: "long" }, identify);
    },
    "a lease": async () => {
      const token = await store.data.acquireLease({ id: "s" }, 1_000);
      await store.data.releaseLease({ id: "s" }, token!);
    },
    "a turn": async () => {
      const held = { ticket: "a", holdMs: 1_000, graceMs: 1_000, ttlMs: 1_000 };
      const place = await store.data.acquireHold({ id: "turns" }, held);
      await store.data.acquireHold({ id: "turns" }, { ...held, ticket: "b" });
      await store.data.renewHold({ id: "turns" }, held);
      if (place.isHeld) {
        await store.clear({ id: "turns", hold: place.hold });
      }
      await store.data.releaseHold({ id: "turns" }, "b");
      await store.data.releaseHold({ id: "turns" }, "a");
    },
    waitReplicas: () =>
      new RedisSessionStore({ client, keyPrefix, waitReplicas: 1, commandTimeout: 1_000 })
        .append({ id: "waiting" }, { records: records("a", 1) })
        .catch((error: Error) => {
          if (!/0 of the 1/.test(error.message)) {
            throw error;
          }
        }),
    clear: () => history.clear(),
  };
}
