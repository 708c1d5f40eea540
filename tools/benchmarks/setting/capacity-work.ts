import { randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import type { Cluster, Redis } from "ioredis";
import type { RedisChatMemory } from "langchain-redis-memory";
import { sentence } from "./messages.js";

/** Sessions of so many messages, each with a text of about so many characters. */
export interface Shape {
  readonly messages: number;
  readonly characters: number;
}

/** Turns that are under way at a time for each server, so that each has as much to do at once. */
const atOnce = 8;

/** Questions and answers in turn, with ids as message providers make them. */
export function textMessages({ messages, characters }: Shape, first = 0): BaseMessage[] {
  return Array.from({ length: messages }, (_, index) => {
    const place = first + index;
    const content = sentence(place, Math.ceil(characters / 5)).slice(0, characters);
    return place % 2 === 0
      ? new HumanMessage({ id: randomUUID(), content })
      : new AIMessage({ id: randomUUID(), content });
  });
}

const perAppend = 10;

/** Fills sessions; returns their ids. */
export async function fill(memory: RedisChatMemory, shapes: readonly Shape[]): Promise<string[]> {
  const ids = shapes.map(() => randomUUID());
  await each(shapes, async (shape, index) => {
    const messages = textMessages(shape);
    for (let first = 0; first < messages.length; first += perAppend) {
      await memory.history(ids[index]!).addMessages(messages.slice(first, first + perAppend));
    }
  });
  return ids;
}

/** One turn of each session: the view is read and two messages are added. */
export async function turnEach(
  memory: RedisChatMemory,
  ids: readonly string[],
  { characters, servers = 1 }: { readonly characters: number; readonly servers?: number },
): Promise<void> {
  await each(
    ids,
    async (id, index) => {
      const history = memory.history(id);
      await history.getMessages();
      await history.addMessages(textMessages({ messages: 2, characters }, 2 * index));
    },
    servers,
  );
}

async function each<T>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<void>,
  servers = 1,
): Promise<void> {
  let next = 0;
  const run = async () => {
    while (next < items.length) {
      const index = next;
      next += 1;
      await work(items[index]!, index);
    }
  };
  await Promise.all(Array.from({ length: servers * atOnce }, run));
}

/** Sessions of all kinds: most are short, few are long (20 messages in the mean, 200 at most). */
export function mixedShapes(count: number): Shape[] {
  return Array.from({ length: count }, (_, index) => {
    // Quantiles of an exponential distribution, in an order that has nothing to do with the length.
    const place = ((index * 0.618_033_988_75) % 1) * 0.999;
    const messages = Math.min(200, 2 + 2 * Math.round((-18 * Math.log(1 - place)) / 2));
    return { messages, characters: [100, 400, 1_000][index % 3]! };
  });
}

/** The mean length of a session's records. */
export async function recordBytesOf(client: Redis | Cluster, id: string): Promise<number> {
  const records = await client.lrange(`lcmem:{${id}}:log`, 0, -1);
  return records.reduce((sum, record) => sum + Buffer.byteLength(record), 0) / records.length;
}
