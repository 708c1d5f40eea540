import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { asking, call, characterCounter, chunks, search } from "./instances.js";
import { redact } from "../../src/entries/structure.js";
import type { BeforeStore } from "../../src/memory/session/stored-forms.js";
import { newMemory } from "../support/memories.js";
import { storedBytes } from "../support/stored-bytes.js";

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
    await search(manager, id, { chunks: chunks(3, { id }) });
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

const client = sharedClient();

const marker = "4111-2222";
const cited = { id: "doc", chunkId: "0", text: `Card ${marker}.` };

/** Managers of one session, each of another instance, and all bytes that its memory stored. */
function sessionWith(beforeStore: BeforeStore) {
  const keyPrefix = uniquePrefix();
  const instance = () => {
    const history = newMemory({ redis: { keyPrefix }, beforeStore }).history("s");
    return new HistoryManager({ history, maxInputTokens: 10_000 });
  };
  return { instance, bytes: async () => [...(await storedBytes(client, keyPrefix))].flat().join("\n") };
}

/** A turn whose answer cites what a tool found; not committed. */
async function answered(manager: HistoryManager): Promise<void> {
  await manager.getHistoryForModelCall(asking("Which card?"));
  manager.appendToolCalls([call("c1", {})]);
  await manager.addToolCallResults([{ id: "c1", name: "search", chunks: [cited], systemReminder: "Cite." }]);
  manager.addAssistantMessage(new AIMessage("That one [source1]."));
}

describe("cited sources of a memory that redacts", () => {
  it("are stored without a match, and so seen by later turns; the turn itself sees what was found", async () => {
    const { instance, bytes } = sessionWith(redact(marker));
    const first = instance();
    await answered(first);
    expect(first.references.chunkOf(1)).toEqual(cited);
    await first.commit();
    expect(await bytes()).not.toContain(marker);
    for (const next of [first, instance()]) {
      await next.getHistoryForModelCall(asking("And now?"));
      expect(next.references.chunkOf(1)).toEqual({ ...cited, text: "Card [redacted]." });
    }
  });

  it("are given to beforeStore as the text of their tool's result", async () => {
    const given: BaseMessage[] = [];
    const { instance } = sessionWith((message) => {
      given.push(message);
      return message;
    });
    const manager = instance();
    await answered(manager);
    await manager.commit();
    const expected = { content: cited.text, name: "search", tool_call_id: "c1", status: "success" };
    expect(given.filter(({ content }) => content === cited.text)).toMatchObject([expected]);
    expect(manager.references.chunkOf(1)).toEqual(cited);
  });

  it("refuse the turn where beforeStore refuses one, and nothing is stored", async () => {
    const { instance, bytes } = sessionWith((message) => {
      if (message instanceof ToolMessage && message.content === cited.text) {
        throw new Error("no cards");
      }
      return message;
    });
    const manager = instance();
    await answered(manager);
    await expect(manager.commit()).rejects.toMatchObject({ name: "RecordError", code: "refused" });
    expect(await bytes()).not.toContain("Which card?");
  });
});
