import { AIMessage, HumanMessage, type BaseMessage } from "@langchain/core/messages";
import { MapSessionStore } from "../../examples/support/map-session-store.js";
import { HistoryManager } from "../../src/tool-loop/history-manager.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { RedisToolInvocationHistory } from "../../src/tool-log/redis-tool-invocation-history.js";
import { ChatHistoryReducer } from "../../src/reducers/chat-history-reducer.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { around, storeWhenUsed } from "../../src/store/groups.js";
import type { SessionStore } from "../../src/store/session-store.js";

const core = ["append", "readView", "readLog", "commitReduction", "clear"];

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** A complete store on which some methods are replaced. */
function storeWith(methods: object): InMemorySessionStore {
  return Object.assign(new InMemorySessionStore(), methods);
}

describe("a store is checked where it is given", () => {
  it.each(core)("a store without %s is refused with the method's name", (method) => {
    const store = storeWith({ [method]: undefined });
    const needed = 'a SessionStore needs "append", "readView", "readLog", "commitReduction" and "clear"';
    const message = expect.stringContaining(`the store has no method "${method}"; ${needed}.`);
    const expected = { code: "invalid_option", option: "store", message };
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

  it.each([
    [null, "null"],
    [7, "a number"],
    ["memory", "a string"],
    [() => undefined, "a function"],
  ])("%p is no store", (store, received) => {
    expect(() => new RedisChatMemory({ store } as never)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        option: "store",
        message: expect.stringContaining(`got ${received}.`),
      }),
    );
  });

  it("a group that is no object is refused", () => {
    expect(() => new RedisChatMemory({ store: storeWith({ edits: true }) })).toThrow('the store\'s "edits" must be');
  });

  it.each([{ owner: "ann" }, { title: "Oslo" }, { metadata: { pinned: true } }])(
    "a store without lists is refused by a history with %j, which it would not check or keep",
    (identity) => {
      const memory = new RedisChatMemory({ store: storeWith({ lists: undefined }) });
      const expected = { code: "invalid_option", option: "store" };
      expect(() => memory.history("s", identity)).toThrow(expect.objectContaining(expected));
    },
  );

  it("a store without edits is refused by replaceFrom before anything is read", async () => {
    const history = new RedisChatMemory({ store: storeWith({ edits: undefined }) }).history("s");
    const expected = { code: "invalid_option", option: "store", message: expect.stringContaining("replaceFrom()") };
    await expect(history.replaceFrom("lost", [new HumanMessage("hi")])).rejects.toMatchObject(expected);
  });

  it("a given store is left open by close()", async () => {
    let closed = 0;
    await new RedisChatMemory({ store: storeWith({ close: async () => void (closed += 1) }) }).close();
    expect(closed).toBe(0);
  });

  it('onDamage "rebuild" needs a store that can rebuild', () => {
    const store = new MapSessionStore();
    expect(() => new RedisChatMemory({ store, onDamage: "rebuild" })).toThrow('needs a store with "edits"');
  });
});

it("side fields are refused where the store has no beside", async () => {
  const history = new RedisChatMemory({ store: storeWith({ beside: undefined }) }).history("s");
  const refused = history.append([new HumanMessage("q")], { side: { set: { field: "value" } } });
  await expect(refused).rejects.toThrow('append() with "side"');
  expect(await history.getTranscript()).toEqual([]);
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

describe("a store around another one", () => {
  const wrap = { "that is loaded with its first call": loadedLater, "whose calls are wrapped": wrapped };

  it.each(Object.entries(wrap))("%s, has its groups and limits, and closes it", async (_, make) => {
    const closed: string[] = [];
    const limits = { maxMessageBytes: 7, maxAppendBytes: 9 };
    class Closing extends InMemorySessionStore {
      override async close(): Promise<void> {
        closed.push("it");
      }
    }
    const complete = Object.defineProperty(new Closing(), "limits", { get: () => limits, enumerable: false });
    const store = make(complete);
    expect(Object.keys(store)).toEqual(
      expect.arrayContaining([...core, "beside", "close", "copies", "edits", "lists"]),
    );
    expect(store.limits).toBe(limits);
    expect(await store.readView({ id: "s" })).toEqual(await complete.readView({ id: "s" }));
    await store.close!();
    expect(closed).toEqual(["it"]);
  });

  it.each(Object.entries(wrap))("%s, has no more than it", (_, make) => {
    const store = make(new MapSessionStore());
    expect(["edits", "lists", "limits", "close"].filter((name) => name in store)).toEqual([]);
  });
});

describe("each method of a store", () => {
  const groups = ["beside", "copies", "edits", "lists"] as const;
  const notOfSession = ["count", "eraseOwner", "flush", "list", "reindex", "scan"];
  const session = { id: "s" };
  const answer = (name: string) => {
    const reply = async (...args: unknown[]) => [name, ...args];
    const items = async function* (...args: unknown[]) {
      yield [name, ...args];
    };
    return name === "scan" ? items : reply;
  };
  const methods = () => new Proxy({}, { get: (_, name) => (name === "then" ? undefined : answer(name as string)) });
  const echoing = Object.assign(Object.fromEntries(core.map((name) => [name, answer(name)])), {
    ...Object.fromEntries(groups.map((group) => [group, methods()])),
  }) as unknown as SessionStore;

  /** Calls each method, and returns the names in order. */
  async function callAll(store: SessionStore): Promise<string[]> {
    const parts = [store, ...groups.map((group) => store[group]!)] as unknown as Record<string, unknown>[];
    const names = parts.flatMap((part) =>
      Object.keys(part).flatMap((name) => (typeof part[name] === "function" ? [{ part, name }] : [])),
    );
    for (const { part, name } of names) {
      const result = (part[name] as (...args: unknown[]) => unknown)(session, 7);
      const replies = name === "scan" ? await allOf(result as AsyncIterable<unknown>) : [await result];
      expect(replies).toEqual([[name, session, 7]]);
    }
    return names.map(({ name }) => name).sort();
  }

  it("passes through what is around it if it concerns a session, and only then", async () => {
    const wrappedCalls: string[] = [];
    const store = around(echoing, (call, go) => {
      expect(call.session).toBe(session);
      wrappedCalls.push(call.method);
      return go();
    });
    const all = await callAll(store);
    expect(wrappedCalls.sort()).toEqual(all.filter((name) => !notOfSession.includes(name)));
    expect(all).toEqual(expect.arrayContaining([...core, ...notOfSession, "rewind", "takeHold", "readMarks"]));
  });

  it("is there in a store that is loaded once, with the first call", async () => {
    let loads = 0;
    const store = storeWhenUsed(echoing, async () => {
      loads += 1;
      return echoing;
    });
    expect(loads).toBe(0);
    expect(await callAll(store)).toEqual(await callAll(around(echoing, (_, go) => go())));
    expect(loads).toBe(1);
  });
});

async function allOf(items: AsyncIterable<unknown>): Promise<unknown[]> {
  const all: unknown[] = [];
  for await (const item of items) {
    all.push(item);
  }
  return all;
}

function loadedLater(store: SessionStore): SessionStore {
  return storeWhenUsed(store, async () => store);
}

function wrapped(store: SessionStore): SessionStore {
  return around(store, (_, go) => go());
}

/** Keeps the last message; its reductions cost money. */
class CostlyReducer extends ChatHistoryReducer {
  override lc_namespace = ["test"];

  override readonly requiresLease = true;

  override async reduce(messages: BaseMessage[]): Promise<BaseMessage[] | null> {
    return messages.length > 1 ? messages.slice(-1) : null;
  }
}
