import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { redisRuns, type Run, type RunItem } from "langchain-redis-memory/runs";
import type { Cluster } from "ioredis";
import type { Redis } from "ioredis";
import { beginMove } from "../../tools/testkit/servers/redis-cluster.js";
import { ToolModel } from "../support/agents.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";
import { expectTombstone } from "../support/tombstones.js";
import { ownCluster } from "../support/own-cluster.js";

const marker = "zebra-marker-42";
const guardMs = 600_000;

/** What is under way is held at the model, and let go behind the erasure. */
function gate() {
  let open = () => {};
  let enter = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const entered = new Promise<void>((resolve) => (enter = resolve));
  return { open, entered, pass: async () => (enter(), opened) };
}

const erasures = {
  delete: (memory: RedisChatMemory) => memory.sessions.delete("s", { owner: "ann", guardMs }),
  deleteOwner: (memory: RedisChatMemory) => memory.sessions.deleteOwner("ann", { guardMs }),
  clear: (memory: RedisChatMemory) => memory.history("s", { owner: "ann" }).clear(),
};

/** A server, or a Cluster whose slot of the session is being moved while it is erased. */
interface Place {
  readonly client: Redis | Cluster;
  /** Names of keys that may stay. */
  readonly kept: RegExp;
  masters(): Redis[];
  /** Begins to move the slot of a key; returns what moves its keys and ends the move. */
  move(key: string): Promise<() => Promise<void>>;
}

// A list may name a session that is gone: one that was cleared, or whose write waits for the slot and entered it.
const kept = /\{(process|owner):/;

describe("on one server", () => {
  const client = sharedClient();
  describe.each(["delete", "deleteOwner", "clear"] as const)("behind %s", (erase) =>
    itLeavesNothing(erase, () => ({
      client,
      kept: erase === "clear" ? kept : /\{process:/,
      masters: () => [client],
      move: async () => async () => undefined,
    })),
  );
});

describe("in a Cluster whose slot is being moved", () => {
  const own = ownCluster(2);
  const move = async (key: string) => (await beginMove(own.cluster, key)).finish;
  describe.each(["delete", "deleteOwner", "clear"] as const)("behind %s", (erase) =>
    itLeavesNothing(erase, () => ({ client: own.client, kept, masters: () => own.client.nodes("master"), move })),
  );
});

function itLeavesNothing(erase: "delete" | "deleteOwner" | "clear", where: () => Place): void {
  const closed = closedAfterEach();

  const place = (isEncrypted: boolean) => {
    const keyPrefix = uniquePrefix();
    const encryption = isEncrypted ? { encryption: testKeys("k1") } : {};
    const { client, kept, masters, move } = where();
    const redis = { keyPrefix, commandTimeout: 40_000 };
    const memory = closed(new RedisChatMemory({ client, redis, ...encryption }));
    const { entered, open, pass } = gate();
    const model = new ToolModel(async () => (await pass(), `${marker} answer`));
    const chat = withRedisMemory(model, { memory });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", async ({ messages }) => ({ messages: [await model.invoke(messages as BaseMessage[])] }))
      .addNode("b", () => ({ messages: [] }))
      .addEdge(START, "a")
      .addEdge("a", "b")
      .compile({ checkpointer: new RedisSaver({ memory }) });
    const question = [new HumanMessage(`${marker} question`)];
    const works = {
      plain: async function* () {
        await pass();
        yield marker;
      },
      chain: (signal: AbortSignal) => {
        const config = sessionConfig({ sessionId: "s", turnId: "u", owner: "ann" });
        return chat.stream(`${marker} question`, { ...config, signal });
      },
      graph: (signal: AbortSignal) =>
        graph.stream({ messages: question }, { configurable: { thread_id: "s" }, signal, streamMode: "updates" }),
    };
    let moved: Promise<void> | undefined;
    const eraseAll = async () => {
      const finish = await move(`${keyPrefix}:{s}:state`);
      await erasures[erase](memory);
      // What was under way goes on in the moving slot for a moment.
      moved = new Promise((resolve) => setTimeout(resolve, 200)).then(finish);
    };
    const contents = async () =>
      JSON.stringify(await Promise.all(masters().map(async (node) => [...(await storedBytes(node, keyPrefix))])));
    const expectNothing = async () => {
      await moved;
      await memory.drain();
      for (const node of masters()) {
        const stored = await storedBytes(node, keyPrefix);
        expect([...stored.entries()].filter((entry) => entry.join().includes(marker))).toEqual([]);
        for (const key of [...stored.keys()].filter((name) => !kept.test(name))) {
          await expectTombstone(node, key, { guardMs, isCleared: erase === "clear" });
          await client.unlink(key);
        }
      }
    };
    return {
      memory,
      graph,
      question,
      works,
      runs: redisRuns(memory),
      entered,
      open,
      eraseAll,
      contents,
      expectNothing,
    };
  };

  const waits = ["queue", "steer", "stop"] as const;
  const kinds = ["plain", "chain", "graph"] as const;
  const ways = waits.flatMap((how) => kinds.map((kind) => [how, kind] as const));

  it.each(ways)("a start that waits (%s) for a run never begins: %s", async (how, kind) => {
    const { memory, works, runs, open, entered, eraseAll, contents, expectNothing } = place(kind === "chain");
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage(marker)]);
    const first = await runs.start("s", { turnId: "t", owner: "ann" }, works.plain);
    await entered;
    const before = await contents();
    let begun = 0;
    const said = how === "steer" ? { message: { role: "user" as const, content: marker, id: "m" } } : {};
    const start = { turnId: "u", owner: "ann", whileRunning: how, ...said };
    const waiting = runs.start("s", start as never, (signal) => {
      begun += 1;
      return works[kind](signal) as never;
    });
    const outcome = waiting.then(
      async (run) => ((await itemsOf(run)).at(-1) as { state: string }).state,
      (error: { code?: string }) => error.code,
    );
    // The waiting start has left word in Redis.
    while ((await contents()) === before) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await eraseAll();
    open();
    await itemsOf(first);
    // A cleared session goes on without what waited for it.
    expect([await outcome, begun]).toEqual([erase === "clear" ? "stopped" : "erased", 0]);
    await expectNothing();
  });

  it.each(kinds)("a run under way stores nothing: %s", async (kind) => {
    const { memory, works, runs, open, entered, eraseAll, expectNothing } = place(kind === "plain");
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage(marker)]);
    const starting = runs.start("s", { turnId: "u", owner: "ann" }, works[kind] as never);
    const ending = starting.then(itemsOf, () => ["failed"]);
    await entered;
    await eraseAll();
    open();
    expect((await ending).at(-1)).not.toEqual({ state: "done" });
    await expectNothing();
  });

  it("a graph without a run stores nothing", async () => {
    const { memory, graph, question, open, entered, eraseAll, expectNothing } = place(false);
    await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage(marker)]);
    const working = graph.invoke({ messages: question }, { configurable: { thread_id: "s" } });
    const outcome = working.then(
      () => "done",
      (error: { code?: string }) => error.code,
    );
    await entered;
    await eraseAll();
    open();
    expect(await outcome).toBe("erased");
    await expectNothing();
  });
}

/** The items of a run until it ends or its session is gone. */
async function itemsOf(run: Run): Promise<(RunItem | string)[]> {
  const items: (RunItem | string)[] = [];
  try {
    for await (const item of run) {
      items.push(item);
    }
  } catch (error) {
    items.push((error as { code?: string }).code ?? "failed");
  }
  return items;
}
