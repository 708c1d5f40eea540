import { createHash } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import type { Redis } from "ioredis";
import { createAgent } from "langchain";
import { redisMemoryMiddleware, steeringMiddleware } from "langchain-redis-memory/agent";
import { sessionConfig } from "langchain-redis-memory";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";
import * as threadScripts from "../../src/langgraph/checkpoint/lua/scripts.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import * as itemScripts from "../../src/langgraph/long-term/lua/scripts.js";
import { RedisStore } from "../../src/langgraph/long-term/redis-store.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import * as laterScripts from "../../src/store/redis/lua/later-scripts.js";
import * as firstScripts from "../../src/store/redis/lua/scripts.js";
import type { Script } from "../../src/store/redis/script.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import { sessionKeys } from "../../src/store/redis/keys.js";
import * as runScripts from "../../src/runs/lua/scripts.js";
import { redisRuns } from "../../src/runs/redis-runs.js";
import { sessionStoreContract } from "../../testing/session-store-contract.js";
import { startContractServer, type ContractServer } from "../contract/contract-server.js";
import { ownServer } from "../support/own-server.js";
import { closedAfterEach } from "../support/closed-after-each.js";
import { spoken } from "../runs/spoken-source.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { all } from "../support/all.js";

/*
 * A Cluster refuses a script a missing key of a slot that is being moved, also one that the script removed itself: it
 * fails in the middle of its work. So each script is sent with a guard in front, which lets it touch no key that it has
 * removed.
 */
const guard = `
local theirs, there = redis, {}
for _, key in ipairs(KEYS) do there[key] = theirs.call('EXISTS', key) == 1 end
local function guarded(name)
  return function(...)
    for i = 2, select('#', ...) do
      local key = select(i, ...)
      if there[key] and theirs.call('EXISTS', key) == 0 then error('REMOVED ' .. select(1, ...) .. ' ' .. key) end
    end
    return theirs[name](...)
  end
end
local redis = setmetatable({ call = guarded('call'), pcall = guarded('pcall') }, { __index = theirs })
`;

const scripts = [firstScripts, laterScripts, threadScripts, itemScripts, runScripts].flatMap((module) =>
  Object.entries(module).filter((entry): entry is [string, Script] => entry[0].endsWith("Script")),
);

describe("a script touches no key that it has removed", () => {
  const own = ownServer(startContractServer);
  let server: ContractServer;
  let client: Redis;
  const closed = closedAfterEach();
  beforeAll(async () => {
    for (const [, script] of scripts) {
      const source = guard + script.source;
      const sha = createHash("sha1").update(source).digest("hex");
      Object.defineProperties(script, { source: { value: source }, sha: { value: sha } });
    }
    ({ server, client } = own);
  });

  let keyPrefix: string;
  const cases = sessionStoreContract({
    create: () => {
      keyPrefix = uniquePrefix();
      return closed(new RedisSessionStore({ client, keyPrefix }));
    },
    damage: (_, sessionId) => client.call("UNLINK", [sessionKeys(keyPrefix, sessionId).ids]),
    wait: (milliseconds) => server.wait(milliseconds),
  });
  for (const { title, run } of cases) {
    it(title, run);
  }

  it("nor do scripts of threads", async () => {
    const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix: uniquePrefix() } }));
    const saver = new RedisSaver({ memory, keep: 1, threadTTL: { seconds: 60, refreshOnRead: true } });
    const at = (thread_id: string, checkpoint_id?: string) => ({
      configurable: { thread_id, checkpoint_ns: "", ...(checkpoint_id && { checkpoint_id }) },
    });
    const put = async (thread_id: string, count: number, text: string) => {
      for (let step = 0; step < count; step += 1) {
        const channel_values = { list: [`${text} ${step} `.repeat(80)], other: `${text} `.repeat(100) };
        const checkpoint = { ...emptyCheckpoint(), id: uuid6(step), channel_values };
        const config = await saver.put(
          at(thread_id),
          checkpoint,
          { source: "loop", step, parents: {} },
          { list: step },
        );
        await saver.putWrites(config, [["list", `write ${step} `.repeat(50)]], `task-${step}`);
      }
    };
    await put("t", 40, "first");
    expect(await saver.getTuple(at("t"))).toBeDefined();
    for await (const _ of saver.list(at("t")));
    await saver.getDeltaChannelHistory?.({ config: at("t"), channels: ["list"] } as never);
    await saver.prune("t", { keep: 1 });
    await put("copy", 3, "second");
    await saver.deleteThread("t");
    await saver.deleteThread("t");
    await memory.sessions.delete("copy");
    await memory.sessions.delete("copy");
    await saver.deleteThread("copy");
    const lines: string[] = [];
    await put("owned", 2, "third");
    for await (const line of memory.sessions.exportOwner("nobody")) lines.push(line);
    await memory.history("owned").clear();
  });

  it("nor do scripts of items", async () => {
    const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix: uniquePrefix() } }));
    const store = new RedisStore({ memory });
    const item = (key: string, value: object | null) => ({ namespace: ["users", "ann"], key, value });
    await store.put(["users", "ann"], "k", { a: 1 }, undefined, { itemTTL: 60 });
    await store.delete(["users", "ann"], "k");
    await store.delete(["users", "ann"], "k");
    await store.batch([item("a", { a: 1 }), item("b", { a: 1 })]);
    await store.batch([item("a", null), item("c", { a: 1 }), item("b", null)]);
    await store.batch([item("c", null), { namespacePrefix: [] }]);
    expect(await store.search([])).toEqual([]);
    await store.put(["users", "ann"], "k", { a: 1 }, undefined, { itemTTL: { seconds: 60, refreshOnRead: true } });
    server.wait(61_000);
    expect(await store.search([])).toEqual([]);
    for (const namespace of [["users", "ann"], ["users"], []]) {
      await store.put(["users", "ann"], "k", { a: 1 });
      await store.put(["users", "ann", "b"], "k", { a: 1 }, undefined, { itemTTL: 60 });
      expect(await store.deleteNamespace(namespace)).toBe(2);
    }
    await store.put(["users", "ann"], "k", { a: 1 });
    await store.put(["users", "bob"], "short", { a: 1 }, undefined, { itemTTL: 60 });
    server.wait(61_000);
    expect(await store.deleteNamespace(["users", "ann"])).toBe(1);
    expect(await store.listNamespaces()).toEqual([]);
  });

  it("nor do scripts of runs", async () => {
    const memory = closed(new RedisChatMemory({ client, redis: { keyPrefix: uniquePrefix() } }));
    const runs = redisRuns(memory);
    const { work, say, end } = spoken();
    const first = await runs.start("r", { turnId: "t", owner: "ann" }, work);
    say("a");
    await runs.steer("r", { role: "user", content: "more", id: "m" }, { owner: "ann" });
    const waiting = (turnId: string) =>
      runs.start("r", { turnId, owner: "ann", whileRunning: "queue" }, async function* () {
        yield "b";
      });
    const stopped = waiting("stopped").catch((error: unknown) => error);
    const queued = waiting("u");
    while (!(await runs.stop("r", { turnId: "stopped" }))) {
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
    end();
    for await (const _ of first);
    for await (const _ of await queued);
    await stopped;
    expect(await runs.active("r", { owner: "ann" })).toBeUndefined();
    const model: ToolModel = new ToolModel(async () => {
      if (model.sent.length === 1) {
        await runs.steer("s", { role: "user", content: "more", id: "m" });
      }
      return model.sent.length === 1 ? lookupCall("q") : "answer";
    });
    const middleware = [redisMemoryMiddleware({ memory }), steeringMiddleware({ runs })];
    const agent = createAgent({ model, tools: [lookup], middleware });
    const input = { messages: [{ role: "user" as const, content: "q" }] };
    const config = sessionConfig({ sessionId: "s", turnId: "v" });
    const steered = await runs.start("s", { turnId: "v" }, (signal) =>
      agent.stream(input, { ...config, signal, streamMode: "messages" }),
    );
    for await (const _ of steered);
    await memory.history("r", { owner: "ann" }).addMessages([new HumanMessage("hi")]);
    await memory.history("r", { owner: "ann" }).clear();
    await memory.sessions.delete("r");
  });

  it("nor do scripts of titles, copies and keys", async () => {
    const redis = { keyPrefix: uniquePrefix() };
    const [plain, sealed] = [undefined, testKeys("k1")].map((encryption) =>
      closed(
        new RedisChatMemory({
          client,
          redis,
          ownerNamespaces: (owner) => [[owner]],
          ...(encryption && { encryption }),
        }),
      ),
    ) as [RedisChatMemory, RedisChatMemory];
    const history = plain.history("s", { owner: "ann", title: "Oslo" });
    await history.append([new HumanMessage("hi")], { side: { set: { note: "x" } } });
    await plain.sessions.update("s", { title: "" });
    await history.fork("copy");
    const checkpoint = { ...emptyCheckpoint(), id: uuid6(1), channel_values: { list: ["text ".repeat(80)] } };
    const config = { configurable: { thread_id: "s", checkpoint_ns: "" } };
    await new RedisSaver({ memory: plain }).put(config, checkpoint, { source: "loop", step: 1, parents: {} }, {});
    await new RedisStore({ memory: plain }).put(["ann"], "k", { a: 1 });
    await sealed.sessions.reencrypt();
    const lines = await all(sealed.sessions.exportOwner("ann"));
    await plain.sessions.deleteOwner("ann");
    const other = closed(new RedisChatMemory({ client, redis: { keyPrefix: uniquePrefix() } }));
    expect((await other.sessions.import(lines)).failed).toBe(0);
    await other.sessions.reindex();
    await other.withTurn("s", (held) => held.clear(), { owner: "ann" });
  });

  it("each of which, where it removes something, was sent here", async () => {
    const removing = scripts.filter(([, { source }]) => /'(UNLINK|HDEL|LTRIM|ZREM|RENAME|XTRIM|XADD)'/.test(source));
    const sent = (await client.script("EXISTS", ...removing.map(([, { sha }]) => sha))) as number[];
    expect(removing.flatMap(([name], index) => (sent[index] === 1 ? [] : name))).toEqual([]);
    expect(removing.length).toBeGreaterThan(25);
  });
});
