import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import type { Cluster } from "ioredis";
import type { Redis } from "ioredis";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { beginMove } from "../../tools/testkit/servers/redis-cluster.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { doors, secret } from "../support/doors.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { storedBytes } from "../support/stored-bytes.js";
import { testKeys } from "../support/test-keys.js";
import { expectTombstone } from "../support/tombstones.js";
import { ownCluster } from "../support/own-cluster.js";

const closed = closedAfterEach();

/** Doors that write beside the session. */
const besideDoors: typeof doors = {
  "a graph": async (memory) => {
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", () => ({ messages: [{ role: "ai", content: `${secret} answer` }] }))
      .addEdge(START, "a")
      .compile({ checkpointer: new RedisSaver({ memory }) });
    const question = { messages: [new HumanMessage(`${secret} question `.repeat(20))] };
    await graph.invoke(question, { configurable: { thread_id: "s" } });
  },
  "a run": async (memory, turnId) => {
    const runs = redisRuns(memory);
    const run = await runs.start("s", { turnId, owner: "ann" }, async function* () {
      await runs.steer("s", { role: "user", content: `${secret} more`, id: `${turnId}-m` });
      yield `${secret} chunk`;
    });
    for await (const _ of run);
  },
};
const allDoors = Object.entries({ ...doors, ...besideDoors });

const erasures = {
  delete: (memory: RedisChatMemory) => memory.sessions.delete("s", { owner: "ann" }),
  deleteOwner: (memory: RedisChatMemory) => memory.sessions.deleteOwner("ann"),
  clear: (memory: RedisChatMemory) => memory.history("s", { owner: "ann" }).clear(),
  "clear in a turn": (memory: RedisChatMemory) => memory.withTurn("s", (history) => history.clear(), { owner: "ann" }),
};
const forms = Object.keys(erasures).flatMap((name) =>
  [false, true].map((isEncrypted) => [name as keyof typeof erasures, isEncrypted] as const),
);

async function begin(client: Redis | Cluster, isEncrypted: boolean) {
  const keyPrefix = uniquePrefix();
  const encryption = isEncrypted ? { encryption: testKeys("k1") } : {};
  const redis = { keyPrefix, commandTimeout: 40_000 };
  const memory = closed(new RedisChatMemory({ client, redis, ...encryption }));
  await memory.history("s", { owner: "ann" }).addMessages([new HumanMessage(secret)]);
  return { keyPrefix, memory };
}

/** Nothing that was said is left in any key or value, and of the session at most tombstones. */
async function expectGone(nodes: readonly Redis[], keyPrefix: string, name: keyof typeof erasures): Promise<void> {
  const marks = [secret, Buffer.from(secret).toString("base64").slice(0, 7)];
  for (const node of nodes) {
    const stored = await storedBytes(node, keyPrefix);
    const text = [...stored].flat().join("\n");
    marks.forEach((mark) => expect(text).not.toContain(mark));
    for (const key of [...stored.keys()].filter((name) => name.includes("{s}"))) {
      expect([key, name]).not.toEqual([key, "clear in a turn"]);
      await expectTombstone(node, key, { isCleared: name === "clear" });
    }
  }
}

describe.each(forms)("behind %s (encrypted: %s)", (name, isEncrypted) => {
  const client = sharedClient();

  it.each(allDoors)("nothing is left of what %s stored", async (_, door) => {
    const { keyPrefix, memory } = await begin(client, isEncrypted);
    await door(memory, "t");
    await memory.drain();
    await erasures[name](memory);
    await memory.drain();
    await expectGone([client], keyPrefix, name);
  });
});

describe("in a Cluster whose slot is being moved", () => {
  const own = ownCluster(2);

  it.each(forms)("nothing is left behind %s (encrypted: %s) of what all doors stored", async (name, isEncrypted) => {
    const { cluster, client } = own;
    const { keyPrefix, memory } = await begin(client, isEncrypted);
    for (const [door, write] of allDoors) {
      await write(memory, `t-${door.replace(/\W/g, "")}`);
    }
    await memory.drain();
    const { finish } = await beginMove(cluster, `${keyPrefix}:{s}:state`);
    await erasures[name](memory);
    await memory.drain();
    await finish();
    await expectGone(client.nodes("master"), keyPrefix, name);
    // A node gives no slot away while it holds keys of it.
    await Promise.all(
      client.nodes("master").map(async (node) => {
        const keys = await node.keys(`${keyPrefix}:{s}*`);
        await Promise.all(keys.map((key) => client.unlink(key)));
      }),
    );
  });
});
