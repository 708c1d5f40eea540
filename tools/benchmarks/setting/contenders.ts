import { randomBytes, randomUUID } from "node:crypto";
import { RedisChatMessageHistory as CommunityHistory } from "@langchain/community/stores/message/ioredis";
import { mapChatMessagesToStoredMessages, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory as RedisPackageHistory } from "@langchain/redis";
import { Redis } from "ioredis";
import {
  ChatHistoryTruncationReducer,
  RedisChatMemory,
  type AppendOptions,
  type RedisChatMemoryOptions,
} from "langchain-redis-memory";

/** What all histories can do. */
export interface History {
  getMessages(): Promise<BaseMessage[]>;
  addMessages(messages: BaseMessage[]): Promise<unknown>;
}

/** A package that keeps histories. */
export interface Contender {
  readonly name: string;
  history(sessionId: string): History;
  /** Stores a long history by the shortest way, off the clock. */
  fill(sessionId: string, messages: readonly BaseMessage[]): Promise<void>;
  close(): Promise<unknown>;
}

/** Names as they stand in tables. */
export const names = {
  ours: "langchain-redis-memory",
  redis: "@langchain/redis",
  community: "@langchain/community",
  raw: "raw ioredis",
} as const;

/** All sessions of benchmarks live so many seconds. */
export const sessionTTL = 3600;

const batch = 1000;

/** The packages under test, ours first, each with one connection of its own. */
export function openContenders(url: string): Contender[] {
  return [openOurs(url), openRedisPackage(url), openCommunity(url)];
}

/** One of them, by name. */
export function openContender(name: string, url: string): Contender {
  return { [names.ours]: openOurs, [names.redis]: openRedisPackage, [names.community]: openCommunity }[name]!(url);
}

/** This package with what costs besides: encryption, and what a product with several instances uses. */
export function openVariants(url: string): Contender[] {
  const encryption = { current: { id: "2026-11", key: randomBytes(32) } };
  const reducer = new ChatHistoryTruncationReducer({ targetCount: 40, thresholdCount: 20 });
  return [
    openOurs(url, { name: "with encryption", options: { encryption } }),
    openOurs(url, {
      name: "with turnId, owner and reducer",
      options: { reducer },
      owner: "user-1",
      append: () => ({ turnId: randomUUID() }),
    }),
  ];
}

/** What sets a variant of this package apart. */
interface Variant {
  readonly name: string;
  readonly options?: Pick<RedisChatMemoryOptions, "encryption" | "reducer">;
  readonly owner?: string;
  readonly append?: () => AppendOptions;
}

function openOurs(url: string, { name, options, owner, append }: Variant = { name: names.ours }): Contender {
  const client = new Redis(url);
  const memory = new RedisChatMemory({ client, sessionTTL, ...options });
  const open = (sessionId: string) => memory.history(sessionId, owner === undefined ? {} : { owner });
  const history = (sessionId: string): History => {
    const opened = open(sessionId);
    return append === undefined
      ? opened
      : {
          getMessages: () => opened.getMessages(),
          addMessages: (messages) => opened.append(messages, append()),
        };
  };
  return {
    name,
    history,
    fill: (sessionId, messages) => inBatches(messages, (part) => open(sessionId).addMessages([...part])),
    close: async () => client.disconnect(),
  };
}

function openRedisPackage(url: string): Contender {
  // One object for all histories: the package keeps a connection per configuration object.
  const config = { url };
  const history = (sessionId: string) => new RedisPackageHistory({ sessionId, sessionTTL, config });
  const filler = new Redis(url);
  return {
    name: names.redis,
    history,
    fill: fillList(filler),
    close: async () => {
      filler.disconnect();
      // Not quit(): behind a delaying proxy the connection ends before the answer to QUIT arrives, which node-redis
      // takes for a failure.
      const { client } = history("last");
      await (client.isOpen ? client.disconnect() : undefined);
    },
  };
}

function openCommunity(url: string): Contender {
  const client = new Redis(url);
  return {
    name: names.community,
    // The package names ioredis 5 as its peer and works with 6, which all contenders use here.
    history: (sessionId) => new CommunityHistory({ sessionId, sessionTTL, client: client as never }),
    fill: fillList(client),
    close: async () => client.disconnect(),
  };
}

/** Both peers store the same: LangChain's `{ type, data }`, newest first. */
function fillList(client: Redis): Contender["fill"] {
  return (sessionId, messages) =>
    inBatches(messages, async (part) => {
      await client.lpush(sessionId, ...listElements(part));
      await client.expire(sessionId, sessionTTL);
    });
}

/** The messages as the peers store them. */
export function listElements(messages: readonly BaseMessage[]): string[] {
  return mapChatMessagesToStoredMessages([...messages]).map((stored) => JSON.stringify(stored));
}

async function inBatches(
  messages: readonly BaseMessage[],
  store: (part: readonly BaseMessage[]) => Promise<unknown>,
): Promise<void> {
  for (let first = 0; first < messages.length; first += batch) {
    await store(messages.slice(first, first + batch));
  }
}
