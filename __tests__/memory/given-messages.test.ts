import { readLog } from "../../src/store/contract/session-data.js";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { ConfigurationError, RecordError, type StoreError } from "../../src/base/errors.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { TokenCounter } from "../../src/conversation/tokens/counted-messages.js";
import { ai, human } from "../support/messages.js";

/** Says when it reads a message: at once, or only after a while. */
function counterOf(
  reads: "at once" | "late" | "late at first" | "for long",
): TokenCounter & { readonly texts: string[] } {
  const texts: string[] = [];
  const read = (message: BaseMessage) => {
    texts.push(message.text);
    return message.text.length;
  };
  const isLate = () => reads === "late" || (reads === "late at first" && texts.length === 0);
  const late = async (message: BaseMessage) => {
    await new Promise(setImmediate);
    return read(message);
  };
  // Counting pauses after 20 ms.
  const busyUntil = (end: number) => {
    while (reads === "for long" && performance.now() < end) {
      // Nothing else runs meanwhile.
    }
  };
  const countMessage = (message: BaseMessage) => {
    busyUntil(performance.now() + 25);
    return isLate() ? late(message) : read(message);
  };
  return { id: "characters", perRequest: 0, countText: ({ length }) => length, countMessage, texts };
}

const counters = [
  ["no counter", () => undefined],
  ["a counter that answers at once", () => counterOf("at once")],
  ["a counter that reads late", () => counterOf("late")],
  ["a counter that reads late at first", () => counterOf("late at first")],
  ["a counter that takes so long that it pauses", () => counterOf("for long")],
] as const;

describe.each(counters)("messages that are changed after the call, with %s", (_, counter) => {
  const open = () => {
    const store = new InMemorySessionStore();
    const tokenCounter = counter();
    const history = new RedisChatMemory({ store, ...(tokenCounter && { tokenCounter }) }).history("ann");
    return { store, tokenCounter, history };
  };

  it.each(["append", "addMessages"] as const)("are stored by %s as they were given", async (method) => {
    const { store, tokenCounter, history } = open();
    const batch = [human("one"), ai("three"), human("fives")];
    const call = history[method](batch);
    for (const message of batch) {
      message.content = "changed by the caller";
    }
    batch.length = 2;
    await call;
    expect((await history.getMessages()).map(({ text }) => text)).toEqual(["one", "three", "fives"]);
    const { tokens } = await store.readView({ id: "ann" });
    expect(tokens).toBe(tokenCounter && 13);
  });

  it("have their counts under the content that is stored", async () => {
    const { store, history, tokenCounter } = open();
    const message = human("one");
    const call = history.append([message], { turnId: "t" });
    message.content = "changed";
    await call;
    const [record] = (await readLog(store, { id: "ann" })).records;
    expect(JSON.parse(record!).meta.tokens).toEqual(tokenCounter && { characters: 3 });
  });

  it("are stored by a HistoryManager as they were added", async () => {
    const { history } = open();
    const manager = new HistoryManager({ history, maxInputTokens: 10_000 });
    const request = { originalUserMessage: "hi", renderedUserMessage: "hi", renderedSystemMessage: "help" };
    await manager.getHistoryForModelCall(request);
    const answer = ai("answer");
    manager.addAssistantMessage(answer);
    answer.content = "changed";
    await manager.commit();
    expect((await history.getMessages()).map(({ text }) => text)).toEqual(["hi", "answer"]);
  });

  it("keep the side fields that were given with them", async () => {
    const { store, history } = open();
    const side = { set: { field: "first" } };
    const call = history.append([human("one")], { side });
    side.set.field = "second";
    await call;
    expect(await store.data.readSide({ id: "ann" }, "")).toEqual({ field: "first" });
  });
});

describe("a message that is too large", () => {
  it.each(["maxMessageBytes", "maxAppendBytes"])("is refused by %s before its tokens are counted", async (limit) => {
    const tokenCounter = counterOf("at once");
    const store = new InMemorySessionStore({ limits: { [limit]: 10_000 } });
    const history = new RedisChatMemory({ store, tokenCounter }).history("ann");
    const refused = await history.append([human("short"), human("é".repeat(6_000))]).catch((error: unknown) => error);
    expect(refused).toMatchObject({ name: "StoreError", code: "too_large" });
    expect((refused as StoreError).message).toContain(limit);
    expect(tokenCounter.texts).toEqual([]);
    expect(await history.getMessages()).toEqual([]);
  });
});

describe("an append that is refused for another reason", () => {
  it("is not taken for damage, and rebuilds nothing", async () => {
    const store = new InMemorySessionStore({ limits: { maxMessageBytes: 10_000 } });
    const events: string[] = [];
    const onEvent = ({ type }: { readonly type: string }) => void events.push(type);
    const history = new RedisChatMemory({ store, onDamage: "rebuild", onEvent }).history("ann");
    const rebuild = jest.spyOn(store.edits, "rebuild");
    await history.append([new HumanMessage({ content: "one", id: "1" })]);
    const changed = history.append([new HumanMessage({ content: "two", id: "1" })]);
    await expect(changed).rejects.toMatchObject({ code: "content" });
    await expect(history.append([human("x".repeat(10_000))])).rejects.toMatchObject({ code: "too_large" });
    expect([events, rebuild.mock.calls]).toEqual([[], []]);
  });
});

describe("what is no list of messages", () => {
  const sparse = [human("one")];
  sparse[2] = human("three");
  const throwing = human("x");
  Object.defineProperty(throwing, "content", {
    get: () => {
      throw new Error("boom");
    },
  });
  const odd = (messages: unknown) => messages as BaseMessage[];
  const lists = [undefined, null, "x", 5, {}, new Set([human("x")])].map(odd);
  const bad: readonly (readonly [string, unknown[], number])[] = [
    ["null", [null], 0],
    ["undefined", [human("a"), undefined], 1],
    ["a string", [human("a"), "x"], 1],
    ["a hole", sparse, 1],
    ["a plain object", [{ content: "hi" }], 0],
    ["an object whose fields cannot be read", [ai("a"), ai("b"), throwing], 2],
    ["an object whose type cannot be read", [{ getType: () => throwing.content }], 0],
  ];
  const memories = () => {
    const store = new InMemorySessionStore();
    return [
      new RedisChatMemory({ store }),
      new RedisChatMemory({ store, tokenCounter: counterOf("at once") }),
      new RedisChatMemory({ store, tokenCounter: counterOf("late") }),
    ];
  };

  it.each(lists.map((list) => [String(list), list] as const))(
    "is refused as %s, with a typed error",
    async (_, list) => {
      for (const memory of memories()) {
        const history = memory.history("ann");
        for (const call of [() => history.append(list), () => history.addMessages(list)]) {
          const refused = await call().catch((error: unknown) => error);
          expect(ConfigurationError.isInstance(refused) && refused.option).toBe("messages");
        }
        expect(await history.getTranscript()).toEqual([]);
      }
    },
  );

  it.each(bad)("is refused with %s in it, naming its position", async (_, messages, position) => {
    for (const memory of memories()) {
      const history = memory.history("ann");
      const refused = await history.append(odd(messages)).catch((error: unknown) => error);
      expect(RecordError.isInstance(refused) && [refused.code, refused.position]).toEqual([
        "unsupported_message",
        position,
      ]);
      expect((refused as RecordError).message).toContain(`Message ${position} `);
      const single = await history.addMessage(odd(messages)[position]!).catch((error: unknown) => error);
      expect(RecordError.isInstance(single) && single.position).toBe(0);
      expect(await history.getTranscript()).toEqual([]);
    }
  });

  it.each([null, 5, "x", [], { set: null }, { set: { a: 1 } }, { remove: "a" }, { remove: [1] }, { bound: 1 }])(
    "is refused with the side changes %j",
    async (given) => {
      const side = given as never;
      for (const memory of memories()) {
        const history = memory.history("ann");
        const refused = await history.append([human("x")], { side }).catch((error: unknown) => error);
        expect(ConfigurationError.isInstance(refused) && refused.option).toMatch(/^side/);
        expect(await history.getTranscript()).toEqual([]);
      }
    },
  );

  it.each([undefined, null, "", 5, {}])("is refused as the id of a message to rewind to (%j)", async (given) => {
    const history = memories()[0]!.history("ann");
    await history.append([human("x")]);
    await expect(history.rewind(given as never)).rejects.toThrow(ConfigurationError);
    expect(await history.getTranscript()).toHaveLength(1);
  });

  it.each([undefined, null, "x", 5, {}])("is refused by a HistoryManager and a MessageHistory as %j", async (given) => {
    const history = memories()[0]!.history("ann");
    const manager = new HistoryManager({ history, maxInputTokens: 10_000 });
    expect(() => manager.addAssistantMessage(given as never)).toThrow(ConfigurationError);
    expect(() => MessageHistory.fromMessages(given as never)).toThrow(ConfigurationError);
    const wrong = MessageHistory.fromMessages([new HumanMessage("a"), new AIMessage("b")]);
    await expect(wrong.save(given as never)).rejects.toThrow(ConfigurationError);
  });
});
