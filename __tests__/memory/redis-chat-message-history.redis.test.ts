import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import type { AIMessage } from "@langchain/core/messages";
import type { BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { sharedClient, sharedRedisUrl, uniquePrefix } from "../support/shared-redis.js";

const client = sharedClient();

function newHistory(options: MemorySettings & { readonly sessionId?: string } = {}) {
  const events: MemoryEvent[] = [];
  const keyPrefix = options.redis?.keyPrefix ?? uniquePrefix();
  const history = new RedisChatMessageHistory({
    sessionId: "ann",
    client,
    redis: { keyPrefix },
    onEvent: (event) => events.push(event),
    ...options,
  });
  const commands = () => events.filter(({ type }) => type === "command").length;
  return { history, events, commands, keyPrefix };
}

const kinds = (messages: readonly BaseMessage[]) => messages.map((message) => message.getType());
const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

describe("RedisChatMessageHistory, as LangChain uses it", () => {
  it("adds messages of each speaker by their texts", async () => {
    const { history } = newHistory();
    await history.addSystemMessage("Be brief.");
    await history.addUserMessage("Hi");
    await history.addAssistantMessage("Hello!");
    await history.addMessages([aiCalls("c1")]);
    await history.addToolMessage("c1", "found", "lookup");
    const messages = await history.getMessages();
    expect(kinds(messages)).toEqual(["system", "human", "ai", "ai", "tool"]);
    expect(messages.at(-1)).toMatchObject({ tool_call_id: "c1", content: "found", name: "lookup" });
  });

  it("adds simulated calls with their results as one turn, once, and refuses invalid ones", async () => {
    const { history, commands } = newHistory();
    const calls = [
      { id: "1", name: "allergies", arguments: { user: "ann" }, result: { allergies: ["nuts"] } },
      { id: "2", name: "allergies", arguments: '{ "user": "ben" }', result: "none" },
    ];
    await history.addSimulatedCalls(calls);
    await history.addSimulatedCalls(calls);
    expect(commands()).toBe(2);
    const [made, ...results] = await history.getMessages();
    expect((made as AIMessage).tool_calls).toEqual([
      { type: "tool_call", id: "1", name: "allergies", args: { user: "ann" } },
      { type: "tool_call", id: "2", name: "allergies", args: { user: "ben" } },
    ]);
    expect(results).toMatchObject([
      { content: '{"allergies":["nuts"]}', name: "allergies", tool_call_id: "1" },
      { content: "none", name: "allergies", tool_call_id: "2" },
    ]);
    const others = [{ ...calls[0]!, result: "other" }, calls[1]!];
    await expect(history.addSimulatedCalls(others)).rejects.toMatchObject({ name: "ConflictError" });
    const twice = [calls[0]!, calls[0]!];
    await expect(history.addSimulatedCalls(twice)).rejects.toMatchObject({ option: "calls.1.id" });
    expect(await history.getMessages()).toHaveLength(3);
  });

  it("returns a fresh array at each read, and messages with ids", async () => {
    const { history } = newHistory();
    const message = human("one");
    await history.addMessage(message);
    const first = await history.getMessages();
    first.push(ai("not stored"));
    const [stored] = await history.getMessages();
    expect(await history.getMessages()).toHaveLength(1);
    expect(stored!.id).toEqual(expect.any(String));
    expect(message.id).toBeUndefined();
  });

  it("opens and closes its own connection from a url or ioredis options, and never closes the caller's", async () => {
    const url = new URL(sharedRedisUrl());
    for (const connection of [{ url: url.href }, { config: { host: url.hostname, port: Number(url.port) } }]) {
      const own = new RedisChatMessageHistory({
        sessionId: "ann",
        redis: { keyPrefix: uniquePrefix() },
        ...connection,
      });
      await own.addUserMessage("hello");
      expect(await own.getMessages()).toHaveLength(1);
      await own.close();
      await expect(own.getMessages()).rejects.toMatchObject({ name: "StoreError", code: "closed" });
    }
    const { history } = newHistory();
    await history.addUserMessage("hello");
    await history.close();
    expect(await client.ping()).toBe("PONG");
  });
});

describe("writes", () => {
  it("adds nothing when the same messages are written again", async () => {
    const { history } = newHistory();
    const turn = [human("one"), ai("two")];
    expect(await history.append(turn)).toEqual({ appended: 2, duplicates: 0, next: 2, repeated: false });
    expect(await history.append(turn)).toEqual({ appended: 0, duplicates: 2, next: 2, repeated: false });
  });

  it("refuses other content for a stored id, or keeps the first and reports it", async () => {
    const { history, keyPrefix } = newHistory();
    await history.addMessage(human("first", "m1"));
    const secret = human("SECRET second", "m1");
    const error = await history.addMessages([ai("new"), secret]).catch((caught: Error) => caught);
    expect(error).toMatchObject({ name: "ConflictError", code: "content", messageId: "m1", sessionId: "ann" });
    expect(String(error)).not.toContain("SECRET");
    expect(texts(await history.getMessages())).toEqual(["first"]);
    const keeping = newHistory({ redis: { keyPrefix }, onConflict: "keep" });
    await keeping.history.addMessages([ai("new"), secret]);
    expect(texts(await history.getMessages())).toEqual(["first", "new"]);
    expect(keeping.events).toContainEqual({ type: "conflict_kept", sessionId: "ann", messageId: "m1" });
  });
});

describe("transcript, rounds and rewind", () => {
  it("pages through the transcript by position", async () => {
    const { history } = newHistory();
    await history.addMessages(Array.from({ length: 10 }, (_, index) => human(`m${index}`)));
    expect(texts(await history.getTranscript({ from: 3, limit: 2 }))).toEqual(["m3", "m4"]);
    expect(texts(await history.getTranscript({ from: 8 }))).toEqual(["m8", "m9"]);
    expect(await history.getTranscript({ from: 10 })).toEqual([]);
    await expect(history.getTranscript({ from: -1 })).rejects.toMatchObject({ option: "from" });
    await expect(history.getTranscript({ limit: 0 })).rejects.toMatchObject({ option: "limit" });
  });

  it("returns the last rounds with their numbers, also rounds that left the view", async () => {
    const { history } = newHistory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) });
    await history.addMessages([ai("greeting")]);
    for (const round of [1, 2, 3, 4]) {
      await history.addMessages([human(`q${round}`), aiCalls(`c${round}`), tool(`c${round}`), ai(`a${round}`)]);
    }
    expect(
      (await history.getRounds(2)).map(({ index, messages }) => [index, messages[0]!.text, messages.length]),
    ).toEqual([
      [3, "q3", 4],
      [4, "q4", 4],
    ]);
    expect((await history.getRounds(9)).map(({ index }) => index)).toEqual([0, 1, 2, 3, 4]);
    await expect(history.getRounds(0)).rejects.toMatchObject({ option: "count" });
  });

  it("removes a message and all after it, which can then be written again", async () => {
    const { history } = newHistory();
    await history.addMessages([human("one", "m1"), ai("two", { id: "m2" }), human("three", "m3")]);
    await history.rewind("m2");
    expect(texts(await history.getTranscript())).toEqual(["one"]);
    await history.addMessages([ai("another two", { id: "m2" })]);
    expect(texts(await history.getMessages())).toEqual(["one", "another two"]);
    // Also where the log has grown past its place.
    await history.addMessages([human("four"), ai("five")]);
    expect(await history.append([human("three", "m3")])).toMatchObject({ appended: 1, duplicates: 0, next: 5 });
    await expect(history.rewind("unknown")).rejects.toMatchObject({ name: "ConflictError", code: "unknown_message" });
  });

  it("rewinds to before the view's start and shows all that is left", async () => {
    const { history } = newHistory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) });
    for (const round of [1, 2, 3, 4]) {
      await history.addMessages([human(`q${round}`, `q${round}`), ai(`a${round}`)]);
    }
    expect(texts(await history.getMessages())).toEqual(["q4", "a4"]);
    await history.rewind("q3");
    expect(texts(await history.getMessages())).toEqual(["q1", "a1", "q2", "a2"]);
    await history.addMessages([human("q5"), ai("a5")]);
    expect(texts(await history.getMessages())).toEqual(["q5", "a5"]);
  });

  it("rewinds to the view's start and shows all that is left, not an empty view", async () => {
    const { history } = newHistory({ reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }) });
    for (const round of [1, 2, 3]) {
      await history.addMessages([human(`q${round}`, `q${round}`), ai(`a${round}`)]);
    }
    await history.rewind("q3");
    expect(texts(await history.getMessages())).toEqual(["q1", "a1", "q2", "a2"]);
  });
});

describe("views", () => {
  it("reduces on request, returns the outcome, and requires a reducer", async () => {
    const { history, keyPrefix } = newHistory({
      reducer: new ChatHistoryTruncationReducer({ targetCount: 2 }),
      reduceWhen: "never",
    });
    await history.addMessages([human("q1"), ai("a1"), human("q2"), ai("a2")]);
    expect(await history.getMessages()).toHaveLength(4);
    expect(await history.reduceView()).toMatchObject({
      changed: true,
      before: { messages: 4 },
      after: { messages: 2 },
    });
    expect(await history.reduceView()).toMatchObject({ changed: false });
    expect(await history.getMessages()).toHaveLength(2);
    await expect(newHistory({ redis: { keyPrefix } }).history.reduceView()).rejects.toMatchObject({
      option: "reducer",
    });
  });

  it("stores the turn even if the reducer fails, and tries again with the next turn", async () => {
    let failing = true;
    const reducer = async (messages: BaseMessage[]) => {
      if (failing) {
        throw new Error("no luck");
      }
      return messages.slice(-1);
    };
    const { history, events } = newHistory({ reducer });
    await history.addMessages([human("one")]);
    expect(events).toContainEqual(expect.objectContaining({ type: "reduction_failed" }));
    failing = false;
    await history.addMessages([human("two")]);
    expect(texts(await history.getMessages())).toEqual(["two"]);
    expect(await history.getTranscript()).toHaveLength(2);
  });

  it("reduces in the background, and close waits for it", async () => {
    const memory = new RedisChatMemory({
      client,
      redis: { keyPrefix: uniquePrefix() },
      reduceWhen: "background",
      reducer: async (messages: BaseMessage[]) => {
        await new Promise((resolve) => setTimeout(resolve, 30));
        return messages.slice(-1);
      },
    });
    const history = memory.history("ann");
    await history.addMessages([human("one"), ai("two")]);
    expect(await history.getMessages()).toHaveLength(2);
    await memory.drain();
    expect(texts(await history.getMessages())).toEqual(["two"]);
  });
});

describe("damage", () => {
  it("is an error for a write, an event for a read, and repaired by rebuild or onDamage", async () => {
    const { history, events, keyPrefix } = newHistory();
    await history.addMessages([human("one", "m1"), ai("two", { id: "m2" })]);
    await client.unlink(`${keyPrefix}:{ann}:ids`);
    await expect(history.addMessages([human("three")])).rejects.toMatchObject({ name: "StoreError", code: "damaged" });
    expect(texts(await history.getMessages())).toEqual(["one", "two"]);
    expect(events).toContainEqual(expect.objectContaining({ type: "damaged" }));
    await Promise.all([history.getTranscript(), history.getRounds(1)]);
    for (const operation of ["getTranscript", "getRounds"]) {
      expect(events).toContainEqual({ type: "damaged", sessionId: "ann", operation });
    }
    await history.rebuild();
    expect(await history.append([human("one", "m1"), human("three")])).toEqual({
      appended: 1,
      duplicates: 1,
      next: 3,
      repeated: false,
    });
    await client.unlink(`${keyPrefix}:{ann}:state`);
    const mending = newHistory({ redis: { keyPrefix }, onDamage: "rebuild" }).history;
    expect(await mending.append([ai("two", { id: "m2" }), ai("four")])).toEqual({
      appended: 1,
      duplicates: 1,
      next: 4,
      repeated: false,
    });
    expect(texts(await mending.getMessages())).toEqual(["one", "two", "three", "four"]);
  });
});
