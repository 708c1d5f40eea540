// One process that makes 20,000 turns through every door, over sessions that come and go: heap, timers, sockets,
// listeners and keys must stay flat. Ends with 1 where one grew. `npm run check:soak`; --turns makes it shorter.
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { Redis } from "ioredis";
import { createAgent } from "langchain";
import { RedisChatMemory, withRedisMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { redisRuns } from "langchain-redis-memory/runs";
import { startRedis } from "../servers/redis-server.js";

const { values } = parseArgs({ options: { turns: { type: "string", default: "20000" } } });
const turns = Number(values.turns);
/** Turns that are under way at a time. */
const atOnce = 8;
/** A session gets so many turns before it is deleted. */
const turnsPerSession = 10;
/** Megabytes by which the heap may grow from the middle to the end: bounded maps fill, and code is compiled. */
const mostGrowth = 4;

const server = await startRedis();
const client = new Redis(server.url);
const memory = new RedisChatMemory({ client, sessionTTL: 3_600, reducer: "none", redis: { viewCacheBytes: 0 } });
const model = new FakeListChatModel({ responses: ["fine"] });
const chain = withRedisMemory(model, { memory });
const agent = createAgent({ model, middleware: [redisMemoryMiddleware({ memory })] });
const runs = redisRuns(memory);
const checkpointer = new RedisSaver({ memory });
const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", () => ({ messages: [{ role: "ai", content: "fine" }] }))
  .addEdge(START, "answer")
  .compile({ checkpointer });

/** A signal of the process's life, as an application would pass it to each turn of a chain. */
const stopping = new AbortController();

type Door = (sessionId: string, turnId: string) => Promise<unknown>;
const configurable = (sessionId: string, turnId: string) => ({ configurable: { sessionId, turnId, owner: "ann" } });

async function drained(items: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of items);
}

/** Every door, the cheap ones more often. */
const cheap: Door = async (id, turnId) => {
  const history = memory.history(id, { owner: "ann" });
  await history.append([new HumanMessage("q"), new AIMessage("a")], { turnId });
  await history.getMessages();
};
const doors: readonly Door[] = [
  ...Array.from({ length: 16 }, () => cheap),
  (id, turnId) => chain.invoke("q", { ...configurable(id, turnId), signal: stopping.signal }),
  async (id, turnId) => drained(await chain.stream("q", configurable(id, turnId))),
  async (id, turnId) => {
    const left = new AbortController();
    const answer = chain.invoke("q", { ...configurable(id, turnId), signal: left.signal });
    left.abort();
    await answer.catch(() => undefined);
  },
  (id, turnId) => memory.withTurn(id, async () => "fine", { turnId, input: "q", owner: "ann" }),
  (id, turnId) => agent.invoke({ messages: [{ role: "user", content: "q" }] }, configurable(id, turnId)),
  async (id, turnId) =>
    drained(await runs.start(id, { turnId, owner: "ann" }, () => chain.stream("q", configurable(id, turnId)))),
  (id) => graph.invoke({ messages: [{ role: "user", content: "q" }] }, { configurable: { thread_id: `${id}-thread` } }),
  async () => memory.drain(),
];

/** The figures that must not grow, once nothing is under way. */
async function signs() {
  await memory.drain();
  await pause(3_000);
  global.gc!();
  await pause(100);
  global.gc!();
  const resources = process.getActiveResourcesInfo();
  return {
    heap: process.memoryUsage().heapUsed / 1_000_000,
    timers: resources.filter((name) => name === "Timeout").length,
    sockets: resources.filter((name) => name.startsWith("TCP")).length,
    listeners: client.eventNames().reduce((sum, name) => sum + client.listenerCount(name), 0),
    keys: (await client.keys("lcmem:{s*")).filter((key) => !/:run/.test(key)).length,
  };
}

async function play(from: number, to: number): Promise<void> {
  let next = from;
  const worker = async () => {
    while (next < to) {
      const index = (next += 1) - 1;
      const id = `s${Math.floor(index / turnsPerSession)}`;
      await doors[index % doors.length]!(id, `t${index}`);
      const ended = index - 10 * turnsPerSession;
      if (ended >= 0 && ended % turnsPerSession === 0) {
        const gone = `s${ended / turnsPerSession}`;
        await memory.sessions.delete(gone, { owner: "ann", guardMs: 1 });
        await checkpointer.deleteThread(`${gone}-thread`);
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

process.on("unhandledRejection", (error) => {
  console.error("unhandled:", error);
  process.exitCode = 1;
});
await play(0, turns / 2);
const middle = await signs();
await play(turns / 2, turns);
const end = await signs();
console.log(JSON.stringify({ turns, middle, end }));
const grew = [
  ...(end.heap > middle.heap + mostGrowth ? ["heap"] : []),
  ...(["timers", "sockets", "listeners"] as const).filter((name) => end[name] > middle[name]),
  // Sessions that are not deleted yet, of the last turns.
  ...(end.keys > middle.keys + 8 * atOnce ? ["keys"] : []),
];
if (grew.length > 0) {
  console.error(`Grew: ${grew.join(", ")}.`);
  process.exitCode = 1;
}
stopping.abort();
await memory.close();
client.disconnect();
await server.stop();
