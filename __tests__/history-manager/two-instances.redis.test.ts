import { AIMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { asking, call, characterCounter, chunks } from "./instances.js";

describe("a session that is served by several instances", () => {
  const clients: Redis[] = [];

  afterEach(() => {
    clients.splice(0).forEach((client) => client.disconnect());
  });

  /** A process of its own: its own connection, its own store, its own manager. */
  function instance(keyPrefix: string, sessionTTL?: number): HistoryManager {
    const client = new Redis(sharedRedisUrl());
    clients.push(client);
    const history = new RedisChatMessageHistory({
      sessionId: "s",
      client,
      redis: { keyPrefix },
      ...(sessionTTL && { sessionTTL }),
    });
    return new HistoryManager({ history, maxInputTokens: 100_000, tokenCounter: characterCounter() });
  }

  async function turn(manager: HistoryManager, id: string, answer: string): Promise<void> {
    await manager.getHistoryForModelCall(asking(`question ${id}`));
    manager.appendToolCalls([call(id)]);
    await manager.addToolCallResults([{ id, name: "search", chunks: chunks(3, { id }) }]);
    await manager.getHistoryForModelCall(asking(`question ${id}`));
    manager.addAssistantMessage(new AIMessage(answer));
    await manager.commit();
  }

  it("stores uploads, references and messages together and expires them at the same moment", async () => {
    const prefix = uniquePrefix();
    const manager = instance(prefix, 60);
    await manager.addUploadedContent([{ id: "u", name: "a.txt", mimeType: "text/plain", text: "upload" }]);
    await turn(manager, "a", "[source1]");
    const client = clients[0]!;
    const keys = await client.keys(`${prefix}*`);
    expect(keys).toHaveLength(3);
    const expiries = await Promise.all(keys.map((key) => client.pexpiretime(key)));
    expect(new Set(expiries).size).toBe(1);
    const { messages } = await instance(prefix, 60).getHistoryForModelCall(asking("next"));
    expect(JSON.stringify(messages[1]?.content)).toContain("upload");
    await client.del(...keys);
    const after = await instance(prefix, 60).getHistoryForModelCall(asking("next"));
    expect(after.messages).toHaveLength(2);
  });

  it("keeps only the newest sources, as many as configured", async () => {
    const prefix = uniquePrefix();
    const client = new Redis(sharedRedisUrl());
    clients.push(client);
    const make = () =>
      new HistoryManager({
        history: new RedisChatMessageHistory({ sessionId: "s", client, redis: { keyPrefix: prefix } }),
        maxInputTokens: 100_000,
        maxSources: 2,
      });
    const manager = make();
    await turn(manager, "a", "[source1] [source2] [source3]");
    await turn(manager, "b", "[source5]");
    const other = make();
    await other.getHistoryForModelCall(asking("?"));
    for (const { references } of [manager, other]) {
      expect(references.toList().map(({ sourceNumber }) => sourceNumber)).toEqual([5, 6]);
    }
  });
});
