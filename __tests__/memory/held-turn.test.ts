import { HumanMessage } from "@langchain/core/messages";
import { tool as makeTool } from "@langchain/core/tools";
import { createAgent, createMiddleware } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/agent/middleware.js";
import { callSignal, currentConfig } from "../../src/agent/run-place.js";
import { StoreError } from "../../src/base/errors.js";
import { SpentTickets } from "../../src/session/hold/local-holds.js";
import { HeldTurn } from "../../src/session/hold/take-hold.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { lookupCall, ToolModel } from "../support/agents.js";

const seconds = 1_000;
const minutes = 60 * seconds;

// Node's own queues stay: promises go on while the clock stands.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] }));
afterEach(() => void jest.useRealTimers());

describe("a turn that is held", () => {
  const take = async () => {
    const { beside } = new InMemorySessionStore();
    const entry = { holdMs: 30 * seconds, graceMs: 2 * seconds };
    await beside.takeHold({ id: "s" }, { ...entry, ticket: "first" });
    const parts = { beside, store: {}, session: { id: "s" }, ticket: "first", holdMs: entry.holdMs, ttlMs: undefined };
    const spent = new SpentTickets();
    const held = new HeldTurn({ ...parts, spent, longestMs: 5 * minutes, onRelease: () => undefined });
    const isFree = async () => {
      const { isHeld } = await beside.takeHold({ id: "s" }, { ...entry, ticket: "second" });
      await beside.giveBackHold({ id: "s" }, "second");
      return isHeld;
    };
    return { held, isFree };
  };

  it("stays for five minutes without a sign of life, and half a minute later is another's", async () => {
    const { isFree } = await take();
    for (let passed = 20 * seconds; passed < 5 * minutes; passed += 20 * seconds) {
      await jest.advanceTimersByTimeAsync(20 * seconds);
      expect(await isFree()).toBe(false);
    }
    await jest.advanceTimersByTimeAsync(19 * seconds);
    expect(await isFree()).toBe(false);
    await jest.advanceTimersByTimeAsync(42 * seconds);
    expect(await isFree()).toBe(true);
  });

  it("stays for five more minutes after each sign of life", async () => {
    const { held, isFree } = await take();
    await jest.advanceTimersByTimeAsync(4 * minutes);
    held.signOfLife();
    await jest.advanceTimersByTimeAsync(4 * minutes);
    expect(await isFree()).toBe(false);
    await jest.advanceTimersByTimeAsync(2 * minutes);
    expect(await isFree()).toBe(true);
  });

  it("stays while its run works, however long, and ends when it is given back", async () => {
    const { held, isFree } = await take();
    held.signOfLife({ isWorking: true });
    await jest.advanceTimersByTimeAsync(60 * minutes);
    expect(await isFree()).toBe(false);
    await held.release();
    expect(await isFree()).toBe(true);
  });
});

describe("a turn whose server is away", () => {
  /** A hold, how often it was given back, and a server that is away until it is said to be back. */
  const lose = async (holdMs: number) => {
    const { beside } = new InMemorySessionStore();
    const server = { error: new Error("away") as Error | undefined };
    const giveBack = jest.spyOn(beside, "giveBackHold").mockImplementation(async () => {
      if (server.error !== undefined) {
        throw server.error;
      }
    });
    const spent = new SpentTickets();
    const give = (ticket: string) => spent.giveBack({ beside, session: { id: "s" }, ticket, holdMs });
    await give("first");
    return { server, spent, give, tries: () => giveBack.mock.calls.length };
  };

  it("is given back with growing pauses, and at once for another turn of the process", async () => {
    const { server, spent, tries } = await lose(30 * seconds);
    expect(tries()).toBe(1);
    await jest.advanceTimersByTimeAsync(10 * seconds);
    expect(tries()).toBe(9);
    expect(await spent.giveBackAll("s")).toEqual([false]);
    server.error = undefined;
    await jest.advanceTimersByTimeAsync(2 * seconds);
    expect([tries(), spent.giveBackAll("s")]).toEqual([11, undefined]);
    await jest.advanceTimersByTimeAsync(60 * seconds);
    expect(tries()).toBe(11);
  });

  it("is over by itself at the end of its time, and each of several for itself", async () => {
    const { spent, give, tries } = await lose(5 * seconds);
    await jest.advanceTimersByTimeAsync(3 * seconds);
    await give("second");
    expect(await spent.giveBackAll("s")).toEqual([false, false]);
    await jest.advanceTimersByTimeAsync(3 * seconds);
    expect(await spent.giveBackAll("s")).toEqual([false]);
    await jest.advanceTimersByTimeAsync(60 * seconds);
    expect([tries(), spent.giveBackAll("s")]).toEqual([17, undefined]);
  });

  it("is not given back to a store that is closed", async () => {
    const { server, spent, give, tries } = await lose(5 * seconds);
    await jest.advanceTimersByTimeAsync(6 * seconds);
    const before = tries();
    server.error = new StoreError("closed", { code: "closed", operation: "giveBackHold" });
    await give("second");
    expect([spent.giveBackAll("s"), tries() - before]).toEqual([undefined, 1]);
  });

  it("is renewed again where one renewal fails", async () => {
    const store = new InMemorySessionStore();
    const renew = jest.spyOn(store.beside, "renewHold").mockRejectedValueOnce(new Error("away"));
    const memory = new RedisChatMemory({ store });
    await memory.withTurn("s", async () => {
      await jest.advanceTimersByTimeAsync(2 * minutes);
      const entry = { ticket: "another", holdMs: seconds, graceMs: seconds };
      expect(await store.beside.takeHold({ id: "s" }, entry)).toMatchObject({ isHeld: false });
    });
    expect(renew.mock.calls.length).toBeGreaterThan(2);
  });
});

describe("a session with a time to live that a turn holds", () => {
  const open = () => new RedisChatMemory({ store: new InMemorySessionStore(), sessionTTL: 60 });

  it("lives on while the turn goes on, also one that began shortly before its end", async () => {
    const memory = open();
    await memory.history("s").addMessages([new HumanMessage("q")]);
    await jest.advanceTimersByTimeAsync(55 * seconds);
    await memory.withTurn(
      "s",
      async (history) => {
        for (const time of [8 * seconds, 10 * minutes]) {
          await jest.advanceTimersByTimeAsync(time);
          expect(await history.getMessages()).toHaveLength(1);
        }
      },
      { holdMs: minutes },
    );
    await jest.advanceTimersByTimeAsync(61 * seconds);
    expect(await memory.history("s").getMessages()).toEqual([]);
  });
});

describe("an agent whose run ends where no hook is called", () => {
  /** An agent that fails behind its tool, which is given the signal that LangGraph makes for the run. */
  const failing = (memory: RedisChatMemory, onTool: (signal: AbortSignal) => void) => {
    const broken = createMiddleware({
      name: "broken",
      beforeModel: ({ messages }) => {
        if (messages.at(-1)?.getType() === "tool") {
          throw new Error("broken");
        }
      },
    });
    const tool = makeTool(
      () => {
        onTool(callSignal(currentConfig())!);
        return "found";
      },
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    return createAgent({
      model: new ToolModel((messages) => lookupCall(messages.at(-1)!.text)),
      tools: [tool],
      middleware: [broken, redisMemoryMiddleware({ memory })],
    });
  };
  const fail = async (agent: ReturnType<typeof failing>) => {
    const run = agent.invoke({ messages: [new HumanMessage("q")] }, { configurable: { sessionId: "ann" } });
    await expect(run).rejects.toThrow("broken");
  };

  it("gives its session back when LangGraph listens to the run's signal no more", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await fail(failing(memory, () => undefined));
    await jest.advanceTimersByTimeAsync(seconds);
    expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });

  it("holds its session for five minutes where something else listens to it for good", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await fail(failing(memory, (signal) => signal.addEventListener("abort", () => undefined)));
    const asked = () => memory.withTurn("ann", () => "free", { waitMs: 0 });
    await jest.advanceTimersByTimeAsync(5 * minutes - 20 * seconds);
    await expect(asked()).rejects.toMatchObject({ code: "busy" });
    await jest.advanceTimersByTimeAsync(51 * seconds);
    expect(await asked()).toBe("free");
  });
});
