import { randomBytes, randomUUID } from "node:crypto";
import { AIMessage, HumanMessage, mapChatMessagesToStoredMessages, type BaseMessage } from "@langchain/core/messages";
import type { Redis } from "ioredis";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { recordedConversations } from "../support/real-conversations.js";
import { sharedClient } from "../support/shared-redis.js";

const sessionTTL = 3600;
const made = Array.from({ length: 1_000 }, (_, index) =>
  index % 2 === 0
    ? new HumanMessage({ id: randomUUID(), content: `question ${index} `.repeat(19) })
    : new AIMessage({
        ...{ id: randomUUID(), content: `answer ${index} `.repeat(9) },
        usage_metadata: { input_tokens: 500, output_tokens: 60, total_tokens: 560 },
        response_metadata: { model_name: "gpt-4o-mini", finish_reason: "stop" },
      }),
);
const spoken = recordedConversations()
  .flat()
  .filter((message) => message.type !== "system");
const recorded = Array.from({ length: 1_000 }, (_, index) => withId(spoken[index % spoken.length]!));

function withId({ type, content }: BaseMessage): BaseMessage {
  const fields = { id: randomUUID(), content };
  return type === "human" ? new HumanMessage(fields) : new AIMessage(fields);
}

describe.each([
  ["recorded", recorded],
  ["made", made],
])("a session of messages (%s), two at a time", (_, all) => {
  const client = sharedClient();
  let memories: Record<"plain" | "encrypted", RedisChatMemory>;
  beforeAll(() => {
    const encryption = { current: { id: "2026-11", key: randomBytes(32) } };
    memories = {
      plain: new RedisChatMemory({ client, sessionTTL }),
      encrypted: new RedisChatMemory({ client, sessionTTL, encryption }),
    };
  });

  it.each([
    [1.25, 10, "plain", ""],
    [1.25, 100, "plain", ""],
    [1.25, 1_000, "plain", ""],
    // The mark of each turn has a field of its own.
    [1.35, 10, "plain", ", each turn with its name"],
    [1.35, 100, "plain", ", each turn with its name"],
    [1.35, 1_000, "plain", ", each turn with its name"],
    [1.4, 10, "encrypted", ""],
    [1.4, 100, "encrypted", ""],
    [1.4, 1_000, "encrypted", ""],
    // The wrapped data key stands in two hashes, so that the loss of one loses no session.
    [1.5, 10, "encrypted", ", each turn with its name"],
    [1.5, 100, "encrypted", ", each turn with its name"],
    [1.5, 1_000, "encrypted", ", each turn with its name"],
  ] as const)("takes at most %f times the memory of a list of %i, %s%s", async (limit, length, kind, named) => {
    // An allocator rounds a single short session up by a quarter or not at all.
    const sessions = Math.min(10, all.length / length);
    const total = { ours: 0, lists: 0 };
    for (let first = 0; first < sessions * length; first += length) {
      const messages = all.slice(first, first + length);
      const session = await fill(memories[kind], messages, named !== "");
      const parts = ["log", "ids", "state"].map((part) => `lcmem:{${session}}:${part}`);
      const list = randomUUID();
      await client.lpush(list, ...mapChatMessagesToStoredMessages(messages).map((stored) => JSON.stringify(stored)));
      total.ours += await memoryOf(client, parts);
      total.lists += await memoryOf(client, [list]);
      await client.unlink(list, ...parts);
    }
    // To two digits, as the limits are told: each version of a server rounds its allocations in its own way.
    expect(Math.round((100 * total.ours) / total.lists) / 100).toBeLessThanOrEqual(limit);
  });
});

async function memoryOf(client: Redis, keys: string[]): Promise<number> {
  const sizes = await Promise.all(keys.map((key) => client.call("MEMORY", "USAGE", key, "SAMPLES", "0")));
  return sizes.reduce<number>((sum, each) => sum + Number(each), 0);
}

async function fill(memory: RedisChatMemory, messages: readonly BaseMessage[], named: boolean): Promise<string> {
  const session = randomUUID();
  const history = memory.history(session);
  for (let first = 0; first < messages.length; first += 2) {
    await history.append(messages.slice(first, first + 2), named ? { turnId: randomUUID() } : {});
  }
  return session;
}
