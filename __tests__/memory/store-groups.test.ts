import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { MapSessionStore } from "../../examples/support/map-session-store.js";
import { HistoryManager } from "../../src/tool-loop/history-manager.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { RedisToolInvocationHistory } from "../../src/tool-log/redis-tool-invocation-history.js";
import { ChatHistoryReducer } from "../../src/reducers/chat-history-reducer.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";

const core = ["append", "readView", "readLog", "commitReduction", "clear"];

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** A complete store on which some methods are replaced. */
function storeWith(methods: object): InMemorySessionStore {
  return Object.assign(new InMemorySessionStore(), methods);
}

describe("a store is checked where it is given", () => {
  it.each(core)("a store without %s is refused with the method's name", (method) => {
    const store = storeWith({ [method]: undefined });
    const expected = { code: "invalid_option", option: "store", message: expect.stringContaining(`"${method}"`) };
    expect(() => new RedisChatMemory({ store })).toThrow(expect.objectContaining(expected));
  });

  it.each([
    ["edits", "swapRecords"],
    ["beside", "writeSide"],
    ["lists", "eraseOwner"],
    ["copies", "create"],
  ] as const)("a store with a part of %s, without %s, is refused", (group, missing) => {
    const part = Object.assign(Object.create(new InMemorySessionStore()[group]), { [missing]: undefined });
    expect(() => new RedisChatMemory({ store: storeWith({ [group]: part }) })).toThrow(
      `the store's "${group}" has no method "${missing}"; give it all methods of the group, or no group`,
    );
  });

  it.each([null, 7, "memory", () => undefined])("%p is no store", (store) => {
    expect(() => new RedisChatMemory({ store } as never)).toThrow(
      expect.objectContaining({ code: "invalid_option", option: "store" }),
    );
  });

  it("a group that is no object is refused", () => {
    expect(() => new RedisChatMemory({ store: storeWith({ edits: true }) })).toThrow('the store\'s "edits" must be');
  });

  it('onDamage "rebuild" needs a store that can rebuild', () => {
    const store = new MapSessionStore();
    expect(() => new RedisChatMemory({ store, onDamage: "rebuild" })).toThrow('needs a store with "edits"');
  });
});

describe("a store with the core alone", () => {
  const memory = new RedisChatMemory({ store: new MapSessionStore() });

  it("gives the same rounds as a complete one", async () => {
    const histories = [
      memory.history("rounds"),
      new RedisChatMemory({ store: new InMemorySessionStore() }).history("r"),
    ];
    const turns = ["greeting", "q1", "a1", "q2", "a2", "q3"].map((text) =>
      text.startsWith("q") ? new HumanMessage({ id: text, content: text }) : new AIMessage({ id: text, content: text }),
    );
    for (const history of histories) {
      await history.addMessages(turns);
    }
    for (const count of [1, 2, 3, 4, 9]) {
      const [own, complete] = await Promise.all(histories.map((history) => history.getRounds(count)));
      expect(own!.map(({ index, messages }) => [index, texts(messages)])).toEqual(
        complete!.map(({ index, messages }) => [index, texts(messages)]),
      );
    }
  });

  it.each([
    ["edits", () => memory.history("s").rewind("id")],
    ["edits", () => memory.history("s").rebuild()],
    ["beside", () => memory.history("s").append([new HumanMessage("hi")], { side: { set: { a: "1" } } })],
    ["beside", async () => new HistoryManager({ history: memory.history("s"), maxInputTokens: 100 })],
    ["beside", async () => new RedisToolInvocationHistory({ history: memory.history("s") })],
  ])("says what it cannot do, for want of %s", async (group, call) => {
    await expect(call()).rejects.toMatchObject({
      code: "invalid_option",
      option: "store",
      message: expect.stringContaining(`"${group}"`),
    });
  });

  it("reduces without a lease", async () => {
    const reduced = new RedisChatMemory({ store: new MapSessionStore(), reducer: new CostlyReducer() }).history("s");
    await reduced.addMessages([new HumanMessage("one"), new HumanMessage("two")]);
    expect(texts(await reduced.getMessages())).toEqual(["two"]);
  });

  it("is closed without a close method", async () => {
    await expect(memory.close()).resolves.toBeUndefined();
  });
});

/** Keeps the last message; its reductions cost money. */
class CostlyReducer extends ChatHistoryReducer {
  override lc_namespace = ["test"];

  override readonly requiresLease = true;

  override async reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    return messages.length > 1 ? messages.slice(-1) : null;
  }
}
