import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { around, storeWhenUsed } from "../../src/store/contract/groups.js";
import type { SessionStore } from "../../src/store/contract/session-store.js";

const core = ["append", "readView", "commitReduction", "clear"];

/** A complete store on which some methods are replaced. */
function storeWith(methods: object): InMemorySessionStore {
  return Object.assign(new InMemorySessionStore(), methods);
}

describe("a store is checked where it is given", () => {
  it.each([null, 7, "memory", () => undefined, {}, storeWith({ append: undefined }), storeWith({ lists: undefined })])(
    "%p is no store",
    (store) => {
      const message = 'option "store" must be an InMemorySessionStore or a RedisSessionStore.';
      const expected = { code: "invalid_option", option: "store", message: expect.stringContaining(message) };
      expect(() => new RedisChatMemory({ store } as never)).toThrow(expect.objectContaining(expected));
    },
  );

  it("a given store is left open by close()", async () => {
    let closed = 0;
    await new RedisChatMemory({ store: storeWith({ close: async () => void (closed += 1) }) }).close();
    expect(closed).toBe(0);
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
    expect(Object.keys(store)).toEqual(expect.arrayContaining([...core, "data", "close", "copies", "edits", "lists"]));
    expect(store.limits).toBe(limits);
    expect(await store.readView({ id: "s" })).toEqual(await complete.readView({ id: "s" }));
    await store.close();
    expect(closed).toEqual(["it"]);
  });
});

describe("each method of a store", () => {
  const groups = ["data", "copies", "edits", "lists"] as const;
  const notOfSession = ["count", "eraseOwners", "flush", "list", "reindex", "scan"];
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
    const parts = [store, ...groups.map((group) => store[group])] as unknown as Record<string, unknown>[];
    const names = parts.flatMap((part) =>
      Object.keys(part).flatMap((name) =>
        typeof part[name] === "function" && name !== "close" ? [{ part, name }] : [],
      ),
    );
    for (const { part, name } of names) {
      const first = notOfSession.includes(name) ? "ada" : session;
      const result = (part[name] as (...args: unknown[]) => unknown)(first, 7);
      const replies = name === "scan" ? await allOf(result as AsyncIterable<unknown>) : [await result];
      expect(replies).toEqual([[name, first, 7]]);
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
    expect(all).toEqual(expect.arrayContaining([...core, ...notOfSession, "rewind", "acquireHold", "readMarks"]));
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
