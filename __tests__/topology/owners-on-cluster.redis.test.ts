import { expectTombstone } from "../support/tombstones.js";
import type { Cluster } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { forkKeys, sessionKeys } from "../../src/store/redis/keys.js";
import { human } from "../support/messages.js";
import { beginMove, type PrivateCluster } from "../../tools/testkit/servers/redis-cluster.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { ownCluster } from "../support/own-cluster.js";

const count = 60;
const guardMs = 120_000;
const id = (index: number) => `session ${index}`;

describe("Sessions of owners in a cluster of three masters", () => {
  const own = ownCluster(3);
  let cluster: PrivateCluster;
  let client: Cluster;
  let memory: RedisChatMemory;
  let keyPrefix: string;
  beforeAll(() => {
    ({ cluster, client } = own);
  });
  beforeEach(async () => {
    keyPrefix = uniquePrefix();
    memory = new RedisChatMemory({ client, redis: { keyPrefix } });
    const write = (index: number) => memory.history(id(index), { owner: "ann" }).addMessages([human(`q${index}`)]);
    await Promise.all(Array.from({ length: count }, (_, index) => write(index)));
    await memory.drain();
  });
  afterEach(() => memory.close());

  const listKey = () => `${keyPrefix}:{owner:ann}:sessions`;
  const lose = (index: number) => client.zrem(listKey(), encodeURIComponent(id(index)));
  async function allKeys(): Promise<string[]> {
    const found = await Promise.all(client.nodes("master").map((node) => node.keys(`${keyPrefix}*`)));
    return found.flat();
  }
  async function listed(): Promise<string[]> {
    const { sessions } = await memory.sessions.list({ owner: "ann", limit: 1_000 });
    return sessions.map(({ sessionId }) => sessionId).sort();
  }

  it("are all erased beside writers, also those that the list lost and parts of a copy", async () => {
    for (let index = 0; index < 5; index += 1) {
      await lose(index);
    }
    const staged = forkKeys(keyPrefix, "copy", "tag");
    await client.hset(staged.state, "next", "500", "owner", "ann");
    await client.rpush(staged.log, "content");
    let isOver = false;
    const writing = (async () => {
      for (let turn = 0; !isOver; turn += 1) {
        const identity = turn % 2 === 0 ? { owner: "ann" } : {};
        const write = memory.history(id(turn % count), identity).addMessages([human("late")]);
        await write.catch((error: { code?: string }) => expect(error.code).toBe("erased"));
      }
    })();
    expect((await memory.sessions.deleteOwner("ann", { unlisted: true, guardMs })).sessions).toBeGreaterThanOrEqual(
      count,
    );
    isOver = true;
    await writing;
    await memory.drain();
    expect(await listed()).toEqual([]);
    for (const key of await allKeys()) {
      await expectTombstone(client, key);
    }
  });

  it("are listed again by reindex where the list lost them, and left out where they are gone", async () => {
    const all = Array.from({ length: count }, (_, index) => id(index)).sort();
    await Promise.all([0, 1, 2].map(lose));
    const { log, ids, state } = sessionKeys(keyPrefix, id(9));
    await client.unlink(log, ids, state);
    expect(await memory.sessions.reindex()).toBeGreaterThanOrEqual(count - 1);
    expect(await listed()).toEqual(all.filter((session) => session !== id(9)));
    expect(await memory.sessions.count({ owner: "ann" })).toBeGreaterThanOrEqual(count - 1);
  });

  it("are copied whole while the slots of source and copy move", async () => {
    const messages = Array.from({ length: 1_200 }, (_, index) => human(`m${index}`));
    const source = memory.history("source", { owner: "ann" });
    await source.addMessages(messages);
    let isOver = false;
    const moving = (async () => {
      for (let turn = 0; !isOver || turn < 2; turn += 1) {
        await moveSlot(cluster, sessionKeys(keyPrefix, turn % 2 === 0 ? "source" : "copy 0").state);
      }
    })();
    const texts = messages.map(({ text }) => text);
    for (let copy = 0; copy < 3; copy += 1) {
      const history = await source.fork(`copy ${copy}`);
      expect((await history.getTranscript()).map(({ text }) => text)).toEqual(texts);
    }
    isOver = true;
    await moving;
    await memory.drain();
    expect((await listed()).filter((session) => session.startsWith("copy"))).toEqual(["copy 0", "copy 1", "copy 2"]);
  });
});

/** Moves the slot of a key, with all that it holds, to another node. */
async function moveSlot(cluster: PrivateCluster, key: string): Promise<void> {
  const move = await beginMove(cluster, key);
  await move.finish();
}
