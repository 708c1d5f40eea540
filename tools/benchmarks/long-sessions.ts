// How long the longest command of each call keeps Redis busy, for sessions of ten thousand to a million small messages:
// Redis serves nobody else meanwhile. Writes the table of docs/development/capacity.md. Run it with
// `npm run long-sessions`; --messages names other lengths, and prints the table instead.
import { parseArgs } from "node:util";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { RedisChatMemory, type RedisChatMemoryOptions } from "langchain-redis-memory";
import { startRedis } from "../testkit/servers/redis-server.js";
import { writeLongSessions } from "./report/write.js";

const full = "10000,100000,1000000";
const { values } = parseArgs({ options: { messages: { type: "string", default: full } } });
const lengths = values.messages.split(",").map(Number);
/** Messages of one write. */
const atOnce = 1_000;

const server = await startRedis();
const client = new Redis(server.url);
await client.config("SET", "slowlog-log-slower-than", "0");
await client.config("SET", "slowlog-max-len", "100000");

/** A process of its own, which keeps nothing of the session. */
function history(options: Partial<RedisChatMemoryOptions> = {}) {
  const redis = { commandTimeout: 120_000 };
  return new RedisChatMemory({ client, redis, reducer: "none", ...options } as RedisChatMemoryOptions).history("s");
}

const messages = (from: number, count: number): BaseMessage[] =>
  Array.from({ length: count }, (_, index) => {
    const id = `m${from + index}`;
    return index % 2 === 0
      ? new HumanMessage({ id, content: `question ${id}` })
      : new AIMessage({ id, content: "yes" });
  });

type LogEntry = [id: number, at: number, microseconds: number, command: string[]];

/** Milliseconds of the longest command while the work runs. */
async function longest(work: () => Promise<unknown>): Promise<number> {
  await client.call("SLOWLOG", "RESET");
  await work();
  const log = (await client.call("SLOWLOG", "GET", "-1")) as LogEntry[];
  // Emptying a long SLOWLOG takes a while itself.
  return Math.max(...log.flatMap(([, , microseconds, [verb]]) => (verb === "SLOWLOG" ? [] : microseconds))) / 1_000;
}

/** The calls in an order in which each finds the session as it needs it. */
function calls(length: number): (readonly [name: string, work: () => Promise<unknown>])[] {
  return [
    [
      "a turn of two messages, `getPage`, `stats`",
      async () => {
        await history().append(messages(length, 2));
        await history().getPage();
        await history().stats();
      },
    ],
    ["`getTranscript()` of all", () => history().getTranscript()],
    ["`rewind` of the newest two", () => history().rewind(`m${length}`)],
    ["`fork`", () => history().fork("copy")],
    ["`clear`, `sessions.delete`", () => new RedisChatMemory({ client }).sessions.delete("copy", { guardMs: 1 })],
    [
      "`rebuild()` where `state` is lost",
      async () => {
        await client.unlink("lcmem:{s}:state");
        await history().rebuild();
      },
    ],
    [
      "`rebuild()` where `ids` is lost",
      async () => {
        await client.unlink("lcmem:{s}:ids");
        await history().rebuild();
      },
    ],
    ["`rewind` by half", () => history().rewind(`m${length / 2}`)],
  ];
}

const rows = new Map<string, number[]>();
for (const length of lengths) {
  await client.flushall();
  const filling = history();
  for (let from = 0; from < length; from += atOnce) {
    await filling.append(messages(from, Math.min(atOnce, length - from)));
  }
  for (const [name, work] of calls(length)) {
    const took = await longest(work);
    console.error(`${length} messages, ${name}: ${took} ms`);
    rows.set(name, [...(rows.get(name) ?? []), took]);
  }
}
client.disconnect();
await server.stop();

const shown = (milliseconds: number) =>
  `${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds).toLocaleString("en")} ms`;
const table = [
  `| | ${lengths.map((length) => `${length.toLocaleString("en")} messages`).join(" | ")} |`,
  `| --- | ${lengths.map(() => "---").join(" | ")} |`,
  ...[...rows].map(([name, times]) => `| ${name} | ${times.map(shown).join(" | ")} |`),
].join("\n");
console.log(values.messages === full ? writeLongSessions(table) : table);
