import { inspect } from "node:util";
import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { RedisSessionStore } from "../../src/store/redis-store/redis-session-store.js";
import {
  RedisToolInvocationHistory,
  ToolInvocationHistory,
} from "../../src/formats/tool-log/tool-invocation-history.js";
import { ai, human } from "../support/messages.js";
import { sharedClient, uniquePrefix } from "../support/shared-redis.js";
import { all } from "../support/all.js";

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

async function collected(history: RedisChatMessageHistory): Promise<string[]> {
  const found: BaseMessage[] = await all(history);
  return texts(found);
}

const client = sharedClient();

describe.each([
  ["Redis", () => new RedisSessionStore({ client, keyPrefix: uniquePrefix() })],
  ["the store in memory", () => new InMemorySessionStore()],
])("A history as a list, in %s", (_, storeOf) => {
  it("is iterated over like its transcript, also over several pages and behind discarded messages", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 600 });
    const store = storeOf();
    const kept = new RedisChatMemory({ store }).history("kept");
    const cut = new RedisChatMemory({ store, reducer, retention: "discard" }).history("cut");
    expect(await collected(kept)).toEqual([]);
    for (let at = 0; at < 1_200; at += 100) {
      const turn = Array.from({ length: 100 }, (__, index) => human(`${at + index}`));
      await Promise.all([kept.addMessages(turn), cut.addMessages(turn)]);
    }
    expect(await collected(kept)).toEqual(texts(await kept.getTranscript()));
    expect(await collected(cut)).toEqual(texts(await cut.getTranscript()));
    expect((await collected(cut)).length).toBeLessThan(1_200);
  });

  it("gives its newest message away, one with each call, and opens the turn that loses it", async () => {
    const history = new RedisChatMemory({ store: storeOf() }).history("s");
    await history.append([human("q", "q"), ai("a", { id: "a" })], { turnId: "t" });
    expect((await history.removeLast())?.text).toBe("a");
    expect(await history.append([human("q", "q"), ai("b", { id: "b" })], { turnId: "t" })).toMatchObject({
      appended: 1,
    });
    expect(texts(await history.getMessages())).toEqual(["q", "b"]);
    expect((await history.removeLast())?.id).toBe("b");
    expect((await history.removeLast())?.id).toBe("q");
    expect(await history.removeLast()).toBeUndefined();
  });

  it("never loses a message that another instance adds while the newest is removed", async () => {
    const store = storeOf();
    const [one, other] = [new RedisChatMemory({ store }).history("s"), new RedisChatMemory({ store }).history("s")];
    await one.addMessages(Array.from({ length: 5 }, (__, index) => human(`${index}`, `m${index}`)));
    const added = [human("new 1", "n1"), human("new 2", "n2")];
    const [removed] = await Promise.all([one.removeLast(), other.addMessages(added)]);
    const left = texts(await one.getTranscript());
    expect([...left, removed!.text].sort()).toEqual(["0", "1", "2", "3", "4", "new 1", "new 2"]);
  });

  it("says which messages left its view, once over all instances, each message once", async () => {
    const store = storeOf();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4 });
    const left: string[] = [];
    const instances = [1, 2, 3].map(
      () =>
        new RedisChatMemory({
          store,
          reducer,
          onEvent: (event) => void (event.type === "reduced" && left.push(...texts(event.left()))),
        }),
    );
    for (let at = 0; at < 30; at += 1) {
      const turn = [human(`q${at}`, `q${at}`), ai(`a${at}`, { id: `a${at}` })];
      await Promise.all([
        instances[at % 3]!.history("s").addMessages(turn),
        instances[(at + 1) % 3]!.history("s").getMessages(),
        instances[(at + 2) % 3]!.history("s")
          .reduceView()
          .catch(() => undefined),
      ]);
    }
    const history = instances[0]!.history("s");
    const view = texts(await history.getMessages());
    expect([...left, ...view].sort()).toEqual(texts(await history.getTranscript()).sort());
    expect(view.length).toBeLessThan(10);
  });

  it("takes objects with a role and pairs, as chains do, and refuses what is no message before it writes", async () => {
    const history = new RedisChatMemory({ store: storeOf() }).history("s");
    await history.addMessage({ role: "user", content: "one" });
    await history.addMessages([["ai", "two"], { role: "assistant", content: "three" }]);
    const stored = await history.getMessages();
    expect(stored.map((message) => [message.getType(), message.text])).toEqual([
      ["human", "one"],
      ["ai", "two"],
      ["ai", "three"],
    ]);
    await expect(history.addMessages([{ role: "user", content: "four" }, 5 as never])).rejects.toMatchObject({
      name: "RecordError",
      position: 1,
    });
    expect(await history.getMessages()).toHaveLength(3);
  });
});

it("Histories and logs say what they are in console.log, without a word of a message", () => {
  const history = new RedisChatMemory({ store: new InMemorySessionStore() }).history("chat 7");
  const list = new MessageHistory("Be brief.");
  expect(inspect({ history, list })).toContain('RedisChatMessageHistory(session "chat 7")');
  expect(inspect(list)).toBe("MessageHistory(1 messages)");
  expect(inspect(new ToolInvocationHistory())).toBe("ToolInvocationHistory(0 invocations)");
  expect(inspect(new RedisToolInvocationHistory({ history }))).toBe('RedisToolInvocationHistory(session "chat 7")');
});

describe("MessageHistory", () => {
  it("begins with a system message where a text is given", () => {
    expect(new MessageHistory("Be brief.").toOpenAIFormat()).toEqual([{ role: "system", content: "Be brief." }]);
  });

  it("sends names that OpenAI takes, and keeps them as they were said", () => {
    const list = MessageHistory.fromMessages([
      new HumanMessage({ content: "hi", name: "Laimonis Dumins" }),
      new AIMessage({ content: "", tool_calls: [{ id: "c", name: "User.get", args: {} }] }),
    ]);
    list.addToolResponse("c", "ok", { name: "User.get" });
    const sent = list.toOpenAIFormat() as unknown as { name?: string; tool_calls?: { function: { name: string } }[] }[];
    expect(sent.map(({ name, tool_calls: calls }) => name ?? calls![0]!.function.name)).toEqual([
      "Laimonis_Dumins",
      "User_get",
      "User_get",
    ]);
    expect(list.at(0)!.name).toBe("Laimonis Dumins");
  });

  it("says where a name goes that is given by itself", () => {
    const list = new MessageHistory();
    expect(() => list.addMessage("user", "x", "Ann" as never)).toThrow(/give the name as \{ name \}/);
    expect(() => list.addToolResponse("c", "x", "weather" as never)).toThrow(/give the name as \{ name \}/);
  });
});
