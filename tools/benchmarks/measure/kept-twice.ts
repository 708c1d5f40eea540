import { randomUUID } from "node:crypto";
import { HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { RedisChatMemory } from "langchain-redis-memory";
import { redisMemoryMiddleware } from "langchain-redis-memory/agent";
import { RedisSaver } from "langchain-redis-memory/checkpoint";
import { content, toolLoopAgent } from "../setting/tool-loop-agent.js";

/** Who keeps a conversation. */
export interface Keeping {
  readonly name: string;
  readonly memory: boolean;
  /** Checkpoints that are kept; undefined without a checkpointer. */
  readonly keep?: number;
}

/** The ways that the guide compares. */
export const keepings: readonly Keeping[] = [
  { name: "the memory alone", memory: true },
  { name: "`RedisSaver` alone", memory: false, keep: Infinity },
  { name: "`RedisSaver` alone, `keep: 2`", memory: false, keep: 2 },
  { name: "both", memory: true, keep: Infinity },
  { name: "both, `keep: 2`", memory: true, keep: 2 },
];

/** What one way keeps of a conversation. */
export interface Kept {
  readonly name: string;
  /** Messages in the state of the graph after the last turn. */
  readonly inState: number;
  readonly sessionBytes: number;
  readonly threadBytes: number;
  /** Round trips a turn. */
  readonly trips: number;
}

/** Runs so many turns of an agent with two tool calls each, six messages of 400 bytes. */
export async function keptBy({ name, memory: hasMemory, keep }: Keeping, url: string, turns: number): Promise<Kept> {
  const client = new Redis(url);
  const keyPrefix = `kept-${randomUUID()}`;
  let trips = 0;
  const onEvent = ({ type }: { readonly type: string }) => void (trips += type === "command" ? 1 : 0);
  const memory = new RedisChatMemory({ client, redis: { keyPrefix }, onEvent });
  const settings = { client, keyPrefix, onEvent, ...(keep !== undefined && keep < Infinity && { keep }) };
  const saver = keep === undefined ? undefined : new RedisSaver(settings);
  const middleware = hasMemory ? [redisMemoryMiddleware({ memory })] : [];
  const agent = toolLoopAgent({ calls: 2, middleware, ...(saver && { checkpointer: saver }) });
  const config = { configurable: { thread_id: "ann" } };
  let state: readonly BaseMessage[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const said = new HumanMessage({ id: `q${turn}`, content: content(-turn) });
    ({ messages: state } = await agent.invoke({ messages: [said] }, config));
  }
  await memory.drain();
  const bytesOf = async (parts: readonly string[]) => {
    const sizes = await Promise.all(
      parts.map((part) => client.call("MEMORY", "USAGE", `${keyPrefix}:{ann}:${part}`, "SAMPLES", "0")),
    );
    return sizes.reduce<number>((sum, size) => sum + Number(size ?? 0), 0);
  };
  const sessionBytes = await bytesOf(["log", "ids", "state"]);
  const threadBytes = await bytesOf(["items", "checkpoints", "order"]);
  await memory.close();
  client.disconnect();
  return { name, inState: state.length, sessionBytes, threadBytes, trips: trips / turns };
}
