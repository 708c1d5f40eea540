import { randomUUID } from "node:crypto";
import {
  ChatHistoryTruncationReducer,
  InMemorySessionStore,
  RedisChatMemory,
  type MemoryEvent,
} from "langchain-redis-memory";
import { findRedisServer, startRedis } from "../../tools/testkit/servers/redis-server.js";

/** Two instances of an application that share their sessions, and what they reported. */
export interface Backend extends AsyncDisposable {
  readonly description: string;
  readonly instances: readonly RedisChatMemory[];
  /** Events since the last call. */
  takeEvents(): MemoryEvent[];
  forget(sessionIds: readonly string[]): Promise<void>;
}

/** REDIS_URL if set, else a private redis-server if one is installed, else the embedded store. */
export async function openBackend(counts: { targetCount: number; thresholdCount: number }): Promise<Backend> {
  const reducer = new ChatHistoryTruncationReducer(counts);
  let events: MemoryEvent[] = [];
  const options = { reducer, onEvent: (event: MemoryEvent) => void events.push(event) };
  const keyPrefix = `lcmem-demo-${randomUUID()}`;
  const { url, description, stop } = await findServer();
  const embedded = new InMemorySessionStore({ onEvent: options.onEvent });
  const connection = url === undefined ? { store: embedded } : { url, redis: { keyPrefix } };
  const instances = [
    new RedisChatMemory({ ...options, ...connection }),
    new RedisChatMemory({ ...options, ...connection }),
  ];
  return {
    description,
    instances,
    takeEvents: () => {
      const taken = events;
      events = [];
      return taken;
    },
    forget: async (sessionIds) => {
      for (const sessionId of sessionIds) {
        await instances[0]!.history(sessionId).clear();
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(instances.map((instance) => instance.close()));
      await stop();
    },
  };
}

async function findServer(): Promise<{ url?: string; description: string; stop(): Promise<void> }> {
  const named = process.env["REDIS_URL"];
  if (named !== undefined && named !== "") {
    return { url: named, description: "the Redis server of REDIS_URL", stop: async () => undefined };
  }
  if (findRedisServer() !== undefined) {
    const server = await startRedis();
    return { url: server.url, description: `a private redis-server on port ${server.port}`, stop: () => server.stop() };
  }
  return {
    description: "the embedded in-process store (no redis-server found, REDIS_URL not set)",
    stop: async () => undefined,
  };
}
