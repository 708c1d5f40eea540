import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { AIMessage, HumanMessage, RemoveMessage, type BaseMessage } from "@langchain/core/messages";
import { Redis } from "ioredis";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
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

  it("keeps what LangChain's methods add, in order, until clear", async () => {
    const { history } = newHistory();
    expect(await history.getMessages()).toEqual([]);
    await history.addUserMessage("one");
    await history.addAIMessage("two");
    await history.addMessage(human("three"));
    await history.addMessages([aiCalls("c1"), tool("c1")]);
    expect(kinds(await history.getMessages())).toEqual(["human", "ai", "human", "ai", "tool"]);
    await history.clear();
    expect(await history.getMessages()).toEqual([]);
    expect(await client.keys(`${history.sessionId}*`)).toEqual([]);
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

  it("keeps records that redis-cli shows as plain JSON, and that LangChain's own format reads", async () => {
    const { history, keyPrefix } = newHistory();
    await history.addMessage(new HumanMessage({ content: "Grüße", id: "m1" }));
    const [record] = await client.lrange(`${keyPrefix}:{ann}:log`, 0, -1);
    expect(record).toMatch(/^\{"type":"human","data":\{/);
    expect(JSON.parse(record!)).toMatchObject({ type: "human", data: { content: "Grüße", id: "m1" }, meta: { v: 1 } });
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

  it("adds nothing when another process writes the same turn", async () => {
    const { history, keyPrefix } = newHistory();
    const other = newHistory({ redis: { keyPrefix } }).history;
    await history.append([human("one"), ai("two")], { turnId: "job-1" });
    expect(await other.append([human("one"), ai("two")], { turnId: "job-1" })).toEqual({
      appended: 0,
      duplicates: 2,
      next: 2,
      repeated: true,
    });
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

  it("refuses messages that cannot be stored, and stores nothing of that turn", async () => {
    const { history } = newHistory();
    await expect(history.addMessages([human("one"), new RemoveMessage({ id: "x" })])).rejects.toMatchObject({
      name: "RecordError",
    });
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    const bad = new AIMessage({ content: "two", additional_kwargs: circular });
    await expect(history.addMessages([human("one"), bad])).rejects.toMatchObject({
      name: "RecordError",
      code: "unsupported_message",
    });
    expect(await history.getMessages()).toEqual([]);
  });

  it("sets the same time to live for all keys of a session, and leaves it alone without a sessionTTL", async () => {
    const { history, keyPrefix } = newHistory({ sessionTTL: 100 });
    await history.addMessages([human("one"), ai("two")]);
    const expiries = () =>
      Promise.all(["log", "ids", "state"].map((part) => client.pexpiretime(`${keyPrefix}:{ann}:${part}`)));
    const before = await expiries();
    expect(new Set(before).size).toBe(1);
    expect(before[0]).toBeGreaterThan(Date.now());
    await newHistory({ redis: { keyPrefix } }).history.addMessage(human("three"));
    expect(await expiries()).toEqual(before);
  });
});

describe("round trips", () => {
  it.each([1, 10, 1000])("writes %d messages with a time to live in one round trip", async (count) => {
    const { history, commands } = newHistory({ sessionTTL: 60 });
    await history.addMessage(human("warm up"));
    const before = commands();
    await history.addMessages(Array.from({ length: count }, (_, index) => human(`message ${index}`)));
    expect(commands() - before).toBe(1);
  });

  it("reads the view, the transcript and rounds in one round trip each", async () => {
    const { history, commands } = newHistory();
    await history.addMessages(
      Array.from({ length: 50 }, (_, index) => (index % 2 === 0 ? human(`q${index}`) : ai(`a${index}`))),
    );
    for (const read of [() => history.getMessages(), () => history.getTranscript(), () => history.getRounds(3)]) {
      const before = commands();
      await read();
      expect(commands() - before).toBe(1);
    }
  });

  it("needs one more round trip for a turn that reduces", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    const { history, commands, events } = newHistory({ reducer });
    const perTurn: number[] = [];
    for (let turn = 0; turn < 8; turn += 1) {
      const before = commands();
      const reductions = events.filter(({ type }) => type === "reduced").length;
      await history.getMessages();
      await history.addMessages([human(`q${turn}`), ai(`a${turn}`)]);
      const reduced = events.filter(({ type }) => type === "reduced").length - reductions;
      expect(commands() - before).toBe(2 + reduced);
      perTurn.push(commands() - before);
    }
    expect(perTurn).toContain(2);
    expect(perTurn).toContain(3);
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

  it("rewinds to nothing, and starts again", async () => {
    const { history } = newHistory();
    await history.addMessages([human("one", "m1"), ai("two")]);
    await history.rewind("m1");
    expect(await history.getMessages()).toEqual([]);
    await history.addMessages([human("one", "m1")]);
    expect(texts(await history.getMessages())).toEqual(["one"]);
  });
});

describe("views", () => {
  it("keeps the transcript whole while the view stays small", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 4, thresholdCount: 2 });
    const { history } = newHistory({ reducer });
    await history.addMessages([system("Be kind.")]);
    for (let turn = 0; turn < 20; turn += 1) {
      await history.addMessages([human(`q${turn}`), aiCalls(`c${turn}`), tool(`c${turn}`), ai(`a${turn}`)]);
      const view = await history.getMessages();
      expect(view.length).toBeLessThanOrEqual(8);
      expect(view[0]!.text).toBe("Be kind.");
    }
    expect(await history.getTranscript()).toHaveLength(81);
  });

  it("removes what leaves the view with retention discard, and still recognizes the messages in its head", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 3 });
    const { history, keyPrefix } = newHistory({ reducer, retention: "discard" });
    await history.addMessages([system("Be kind.")]);
    for (let turn = 0; turn < 10; turn += 1) {
      await history.addMessages([human(`q${turn}`), ai(`a${turn}`)]);
    }
    expect(texts(await history.getMessages())).toEqual(["Be kind.", "q9", "a9"]);
    expect(texts(await history.getTranscript())).toEqual(["q9", "a9"]);
    expect(await client.llen(`${keyPrefix}:{ann}:log`)).toBe(2);
    expect((await history.getRounds(5)).map(({ index }) => index)).toEqual([10]);
  });

  it("discards what was kept before once retention is discard", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const { history, keyPrefix } = newHistory({ reducer });
    for (let turn = 0; turn < 5; turn += 1) {
      await history.addMessages([human(`q${turn}`, `q${turn}`), ai(`a${turn}`)]);
    }
    const discarding = newHistory({ redis: { keyPrefix }, reducer, retention: "discard" }).history;
    await discarding.addMessages([human("q5"), ai("a5")]);
    expect(texts(await discarding.getTranscript())).toEqual(["q5", "a5"]);
    expect(await discarding.append([human("q0", "q0")])).toMatchObject({ appended: 0, duplicates: 1 });
  });

  it("hides a tool result whose call is not in the view, and reports it", async () => {
    const { history, events } = newHistory();
    await history.addMessages([human("q"), tool("lost"), ai("a")]);
    expect(kinds(await history.getMessages())).toEqual(["human", "ai"]);
    expect(kinds(await history.getTranscript())).toEqual(["human", "tool", "ai"]);
    expect(events).toContainEqual(expect.objectContaining({ type: "tool_result_hidden", toolCallId: "lost" }));
  });

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

  it("refuses a reduction that splits a step and changes nothing", async () => {
    const { history } = newHistory({
      reducer: async (messages: BaseMessage[]) => messages.slice(-2),
      reduceWhen: "never",
    });
    await history.addMessages([human("q"), aiCalls("c1"), tool("c1"), ai("a")]);
    await expect(history.reduceView()).rejects.toMatchObject({ name: "StructureError" });
    expect(await history.getMessages()).toHaveLength(4);
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

describe("records that cannot be read", () => {
  it("are skipped and reported, or thrown on request, and never make the session unreadable", async () => {
    const { history: writer, keyPrefix } = newHistory();
    await writer.addMessages([human("one"), ai("two"), human("three")]);
    await client.lset(`${keyPrefix}:{ann}:log`, 1, "no JSON");
    const { history, events } = newHistory({ redis: { keyPrefix } });
    expect(texts(await history.getMessages())).toEqual(["one", "three"]);
    expect(events).toContainEqual(
      expect.objectContaining({
        type: "record_skipped",
        position: 1,
        error: expect.objectContaining({ code: "corrupt" }),
      }),
    );
    await client.lset(`${keyPrefix}:{ann}:log`, 1, '{"type":"ai","data":{"content":"x"},"meta":{"v":99}}');
    expect(texts(await history.getMessages())).toEqual(["one", "three"]);
    const strict = newHistory({ redis: { keyPrefix }, onDamage: { record: "error" } }).history;
    await expect(strict.getMessages()).rejects.toMatchObject({
      name: "RecordError",
      code: "unsupported_version",
      position: 1,
    });
    await history.addMessages([ai("four")]);
    expect(texts(await history.getMessages())).toEqual(["one", "three", "four"]);
  });
});

it("a message that a rewind removed is stored again, also where the log has grown past its place", async () => {
  const { history } = newHistory();
  const gone = [ai("two", { id: "m2" }), human("three", "m3")];
  await history.addMessages([human("one", "m1"), ...gone]);
  await history.rewind("m2");
  await history.addMessages([ai("four"), human("five"), ai("six")]);
  expect(await history.append(gone)).toMatchObject({ appended: 2, duplicates: 0, next: 6 });
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

describe("a reduction that races writers", () => {
  it("loses nothing: the transcript has every message once, and the view those added meanwhile", async () => {
    const keyPrefix = uniquePrefix();
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 6, thresholdCount: 2 });
    const clients = [new Redis(sharedRedisUrl()), new Redis(sharedRedisUrl())];
    const writers = clients.map(
      (own) => new RedisChatMessageHistory({ sessionId: "ann", client: own, redis: { keyPrefix }, reducer }),
    );
    const turns = 150;
    await Promise.all(
      writers.map(async (writer, number) => {
        for (let turn = 0; turn < turns; turn += 1) {
          await writer.addMessages([
            human(`q${number}-${turn}`, `q${number}-${turn}`),
            ai(`a${number}-${turn}`, { id: `a${number}-${turn}` }),
          ]);
        }
      }),
    );
    const transcript = (await writers[0]!.getTranscript()).map(({ id }) => id!);
    expect(new Set(transcript).size).toBe(2 * 2 * turns);
    expect(transcript).toHaveLength(2 * 2 * turns);
    transcript.forEach((id, index) =>
      id.startsWith("q") ? expect(transcript[index + 1]).toBe(id.replace("q", "a")) : undefined,
    );
    const view = (await writers[0]!.getMessages()).map(({ id }) => id!);
    expect(view).toEqual(transcript.slice(-view.length));
    expect(view.length).toBeLessThanOrEqual(12);
    await Promise.all(clients.map((own) => own.quit()));
  });
});
