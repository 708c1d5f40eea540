import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { ChatHistoryTruncationReducer, RedisChatMemory } from "langchain-redis-memory";
import { RedisToolInvocationHistory } from "langchain-redis-memory/openai";
import { redisRuns } from "langchain-redis-memory/runs";
import { startContractServer } from "../contract/contract-server.js";
import { RedisSessionStore } from "../../src/redis-store/redis-session-store.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { records } from "../../testing/session-store/store-case.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { allLeastCommands, leastCommands, partCommands } from "../support/least-commands.js";
import { refusals } from "../../testkit/servers/least-user.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { ownServer } from "../support/own-server.js";

/** Those that one server without replicas never gets, and those that the contract does not meet. */
const elsewhere: readonly string[] = [...leastCommands.cluster, "exists", ...leastCommands.encryption];

describe("A Redis user with the least commands", () => {
  const closed = closedAfterEach();
  const own = ownServer(startContractServer);

  const open = async (name: string, commands: readonly string[]) => {
    await own.client.call(
      "ACL",
      "SETUSER",
      name,
      "reset",
      "on",
      ">pw",
      "~*",
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
    for (const { title, run } of sessionStoreContract({
      create: () => new RedisSessionStore({ client, keyPrefix: uniquePrefix() }),
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

  it("and those of runs is refused nothing by them, and needs each", async () => {
    await own.client.call("ACL", "LOG", "RESET");
    await own.client.config("RESETSTAT");
    const memory = closed(
      new RedisChatMemory({
        client: closed(await open("runs", [...allLeastCommands, ...partCommands.redisRuns])),
        redis: { keyPrefix: uniquePrefix() },
      }),
    );
    const runs = redisRuns(memory, { lostAfterMs: 600_000 });
    const states: unknown[] = [];
    for (const turnId of ["t", "u"]) {
      const run = await runs.start("s", { turnId, whileRunning: "queue" }, async function* () {
        yield await runs.steer("s", "more");
      });
      for await (const item of run) {
        states.push("state" in item ? item.state : "chunk" in item && item.chunk);
      }
    }
    expect(await runs.stop("s")).toBe(false);
    expect(states).toEqual(["idle", "done", "idle", "done"]);
    expect(await refusals(own.client)).toEqual([]);
    const stats = await own.client.info("commandstats");
    expect(partCommands.redisRuns.filter((command) => !stats.includes(`cmdstat_${command}:`))).toEqual([]);
  });
});

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
    readLog: () => store.readLog({ id: "plain" }),
    readRounds: () => lasting.getRounds(1),
    rewind: () => lasting.rewind("ta"),
    "side data": async () => {
      const log = new RedisToolInvocationHistory({ memory, sessionId: "tools", limit: 1 });
      for (const id of ["1", "2", "3"]) {
        await log.addInvocation({ name: id, inputs: {}, outputs: {}, status: "success" });
      }
      await log.toList();
      await store.beside.writeSide({ id: "plain" }, { set: { a: "1" }, expected: { b: undefined } });
      await store.beside.writeSide({ id: "plain" }, { remove: ["a"], expected: { a: "1" } });
    },
    rebuild: async () => {
      await lasting.rebuild();
      await history.rebuild();
    },
    "a lease": async () => {
      const token = await store.beside.acquireLease({ id: "s" }, 1_000);
      await store.beside.releaseLease({ id: "s" }, token!);
    },
    "a turn": async () => {
      const held = { ticket: "a", holdMs: 1_000, graceMs: 1_000, ttlMs: 1_000 };
      const place = await store.beside.takeHold({ id: "turns" }, held);
      await store.beside.takeHold({ id: "turns" }, { ...held, ticket: "b" });
      await store.beside.renewHold({ id: "turns" }, held);
      if (place.isHeld) {
        await store.beside.restart({ id: "turns", hold: place.hold });
      }
      await store.beside.giveBackHold({ id: "turns" }, "b");
      await store.beside.giveBackHold({ id: "turns" }, "a");
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
