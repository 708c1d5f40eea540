import { FakeListChatModel } from "@langchain/core/utils/testing";
import { HumanMessage } from "@langchain/core/messages";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import fc from "fast-check";
import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
import { RedisSaver, RedisStore } from "langchain-redis-memory/checkpoint";
import { redisRuns } from "langchain-redis-memory/runs";
import { keyOf, namedKey, type DataPart } from "../../src/store/redis/keys.js";
import { ownServer } from "../support/own-server.js";
import { forAll } from "../support/property-runs.js";
import { spoken } from "../runs/spoken-source.js";
import { startRedis } from "../../tools/testkit/servers/redis-server.js";

/** Each part of a key, as the compiler asks: true where the doors below surely show it, false for one of a moment. */
const parts: Readonly<Record<DataPart, boolean>> = {
  ...{ log: true, ids: true, state: true, run: true, "run:queue": true, items: true, checkpoints: true, order: true },
  ...{ lease: false, "run:steers": false, "staged:records": false, "staged:known": false, "staged:progress": false },
  ...{ sessions: true, mail: true, values: true, names: true, expiry: true },
};
const ofOthers: readonly string[] = ["mail", "values", "names", "expiry"];

it("the name of each key says of what it is", () => {
  const ids = fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).filter((id) => id.isWellFormed());
  const cases = fc.record({
    id: ids,
    part: fc.constantFrom(...(Object.keys(parts) as DataPart[]).filter((part) => !ofOthers.includes(part))),
  });
  forAll(300, cases, ({ id, part }) => {
    const tag = part.startsWith("staged:") ? { tag: "t-1" } : {};
    const key = keyOf("app", part, id, tag.tag);
    expect(namedKey(key.slice("app:{".length))).toMatchObject({ part, id, ...tag });
  });
  const foreign = ["s}:logs", "s}:staged:log", "s}:run:x", "owner:s}:log", "s}:sessions", "{s}:log", "}:log", "s:log"];
  expect(foreign.map(namedKey)).toEqual(foreign.map(() => undefined));
});

describe("an empty server behind all doors", () => {
  const own = ownServer(startRedis);

  it("has no key whose name the table of parts does not know", async () => {
    const met = new Set<string>();
    const note = async () => {
      const keys = await own.client.keys("*");
      expect(keys.filter((key) => namedKey(key.slice("lcmem:{".length)) === undefined)).toEqual([]);
      keys.forEach((key) => met.add(namedKey(key.slice("lcmem:{".length))!.part));
    };
    const memory = new RedisChatMemory({ client: own.client });
    const runs = redisRuns(memory);
    const model = new FakeListChatModel({ responses: ["answer"] });
    const history = memory.history("s", { owner: "ann", title: "Oslo" });
    await history.addMessages([new HumanMessage("hi")]);
    await memory.withTurn("s", note, { owner: "ann" });
    await withRedisMemory(model, { memory }).invoke("q", sessionConfig({ sessionId: "chain", owner: "ann" }));
    const saver = new RedisSaver({ memory });
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("a", async ({ messages }) => ({ messages: [await model.invoke(messages)] }))
      .addEdge(START, "a")
      .compile({ checkpointer: saver });
    await graph.invoke({ messages: [new HumanMessage("hi")] }, { configurable: { thread_id: "s" } });
    await graph.invoke({ messages: [new HumanMessage("hi")] }, { configurable: { thread_id: "copied", owner: "ann" } });
    await new RedisStore({ memory }).put(["u"], "k", { a: 1 });
    await history.append([new HumanMessage("more")], { side: { set: { field: "1" } } });
    const { work, say, end } = spoken();
    const first = await runs.start("r", { turnId: "t", owner: "ann" }, work);
    say("a");
    const queued = runs.start("r", { turnId: "u", owner: "ann", whileRunning: "queue" }, async function* () {
      yield "b";
    });
    while ((await own.client.exists("lcmem:{r}:run:queue")) === 0) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await note();
    end();
    for await (const _ of first);
    for await (const _ of await queued);
    await history.fork("fork");
    await memory.sessions.deleteOwner("ann");
    await memory.drain();
    await note();
    await memory.close();
    const sure = Object.entries(parts).filter(([, isSure]) => isSure);
    expect(sure.filter(([part]) => !met.has(part))).toEqual([]);
  });
});
