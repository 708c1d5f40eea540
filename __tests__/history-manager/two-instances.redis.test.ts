import { AIMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";
import { asking, call, characterCounter, chunks, sourcesIn } from "./instances.js";

describe("a session that is served by several instances", () => {
  const clients: Redis[] = [];
  const commands: string[] = [];

  afterEach(() => {
    clients.splice(0).forEach((client) => client.disconnect());
    commands.length = 0;
  });

  /** A process of its own: its own connection, its own store, its own manager. */
  function instance(keyPrefix: string, sessionTTL?: number): HistoryManager {
    const client = new Redis(sharedRedisUrl());
    clients.push(client);
    const onEvent = (event: { type: string; operation?: string }) =>
      void (event.type === "command" && commands.push(event.operation!));
    const history = new RedisChatMessageHistory({
      sessionId: "s",
      client,
      redis: { keyPrefix },
      onEvent,
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

  it("gives each source one number and finds it on the other instance", async () => {
    const prefix = uniquePrefix();
    const [one, two] = [instance(prefix), instance(prefix)];
    await turn(one, "a", "See [source2].");
    await turn(two, "b", "See [source4] and [source6], and [source2] again.");
    await turn(one, "c", "See [source9].");
    const { messages } = await two.getHistoryForModelCall(asking("and now?"));
    const numbers = { a: [1, 2, 3], b: [4, 5, 6], c: [7, 8, 9] };
    expect(["a", "b", "c"].map((id) => sourcesIn(messages, id))).toEqual(Object.values(numbers));
    expect(validateConversation(messages, { purpose: "model-input" })).toEqual([]);
    const third = instance(prefix);
    await third.getHistoryForModelCall(asking("and now?"));
    for (const manager of [two, third]) {
      expect(manager.references.toList().map(({ sourceNumber, toolCallId }) => [sourceNumber, toolCallId])).toEqual(
        Object.entries(numbers).flatMap(([id, own]) => own.map((number) => [number, id])),
      );
      expect(manager.references.chunkOf(6)).toEqual(chunks(3, { id: "b" })[2]);
      expect(manager.references.lookup("c_c2")).toEqual([
        { sourceNumber: 9, toolCallId: "c", chunk: chunks(3, { id: "c" })[2] },
      ]);
    }
  });

  it("never gives a number to two concurrent turns", async () => {
    const prefix = uniquePrefix();
    const managers = Array.from({ length: 4 }, () => instance(prefix));
    await Promise.all(managers.map((manager, index) => turn(manager, `t${index}`, "[source1] to [source12]")));
    const fresh = instance(prefix);
    await fresh.getHistoryForModelCall(asking("?"));
    const found = fresh.references.toList().map(({ sourceNumber }) => sourceNumber);
    expect(new Set(found).size).toBe(found.length);
    const running = managers.map((manager, index) => {
      manager.appendToolCalls([call(`u${index}`)]);
      return manager.addToolCallResults([{ id: `u${index}`, name: "search", chunks: chunks(2) }]);
    });
    await Promise.all(running);
    const numbers = managers
      .flatMap((manager) => manager.references.toList())
      .filter(({ toolCallId }) => toolCallId.startsWith("u"));
    expect(numbers.map(({ sourceNumber }) => sourceNumber).sort((a, b) => a - b)).toEqual([
      13, 14, 15, 16, 17, 18, 19, 20,
    ]);
  });

  it("needs four commands for a turn with sources, two of them sent together", async () => {
    const manager = instance(uniquePrefix());
    for (const answer of ["[source1]", "[source4]"]) {
      await turn(manager, answer, answer);
      // The first two are sent together and may be answered in any order.
      expect([...commands.splice(0, 2).sort(), ...commands.splice(0)]).toEqual([
        "readSide",
        "readView",
        "writeSide",
        "append",
      ]);
    }
  });

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
