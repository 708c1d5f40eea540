import type { BaseMessage } from "@langchain/core/messages";
import { MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisSaver } from "../../src/langgraph/checkpoint/redis-saver.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";
import type { Topology } from "../testkit/topologies/topology.js";
import type { FinalThread } from "./checking/check-threads.js";
import { encryption } from "./client/doors.js";
import { tokensOf } from "./client/lane.js";
import { openStores } from "./client/open-stores.js";

/** Reads every thread as it is now, past the proxies, with a saver that knows nothing of it: all that is listed. */
export async function readThreads(topology: Topology, ids: readonly string[]): Promise<FinalThread[]> {
  const stores = openStores(topology.direct, true);
  try {
    return await readThreadsOf(stores.plain, ids);
  } finally {
    await stores.close();
  }
}

/** The same by a store. */
export async function readThreadsOf(store: SessionStore, ids: readonly string[]): Promise<FinalThread[]> {
  const events: MemoryEvent[] = [];
  const onEvent = (event: MemoryEvent) => void (event.type === "record_skipped" ? events.push(event) : undefined);
  const saver = new RedisSaver({ memory: new RedisChatMemory({ store, encryption, onEvent }) });
  const threads: FinalThread[] = [];
  for (const id of ids) {
    threads.push({ id, ...(await readThread(saver, id, events)) });
  }
  return threads;
}

async function readThread(saver: RedisSaver, id: string, events: MemoryEvent[]): Promise<Omit<FinalThread, "id">> {
  events.length = 0;
  const config = { configurable: { thread_id: id } };
  const errors: string[] = [];
  const noting = async (read: () => Promise<void>) => {
    try {
      await read();
    } catch (error) {
      if (!MemoryError.isInstance(error) || error.retryable) {
        throw error;
      }
      errors.push(`${error.code}: ${error.message}`);
    }
  };
  let messages: BaseMessage[] = [];
  await noting(async () => {
    const tuple = await saver.getTuple(config);
    messages = (tuple?.checkpoint.channel_values["messages"] ?? []) as BaseMessage[];
  });
  await noting(async () => {
    const listed: unknown[] = [];
    for await (const tuple of saver.list(config)) {
      listed.push(tuple);
    }
  });
  const skipped = events.map(() => "a listed checkpoint cannot be read");
  return { tokens: tokensOf(messages), errors: [...errors, ...skipped] };
}
