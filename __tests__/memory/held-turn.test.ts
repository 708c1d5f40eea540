import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool as makeTool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { z } from "zod";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { HeldTurn } from "../../src/memory/session/hold/acquire-hold.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { lookup, lookupCall, sketch, ToolModel } from "../support/agents.js";

const seconds = 1_000;
const minutes = 60 * seconds;

// Node's own queues stay: promises go on while the clock stands.
beforeEach(() => void jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] }));
afterEach(() => void jest.useRealTimers());

describe("a turn that is held", () => {
  const take = async () => {
    const { data } = new InMemorySessionStore();
    const entry = { holdMs: 30 * seconds, graceMs: 2 * seconds };
    await data.acquireHold({ id: "s" }, { ...entry, ticket: "first" });
    const parts = { data, store: {}, session: { id: "s" }, ticket: "first", holdMs: entry.holdMs, ttlMs: undefined };
    const held = new HeldTurn({ ...parts, longestMs: 5 * minutes, onRelease: () => undefined });
    const isFree = async () => {
      const { isHeld } = await data.acquireHold({ id: "s" }, { ...entry, ticket: "second" });
      await data.releaseHold({ id: "s" }, "second");
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
    held.signOfLife(Infinity);
    await jest.advanceTimersByTimeAsync(60 * minutes);
    expect(await isFree()).toBe(false);
    await held.release();
    expect(await isFree()).toBe(true);
  });
});

describe("a turn whose server is away", () => {
  it("is renewed again where one renewal fails", async () => {
    const store = new InMemorySessionStore();
    const renew = jest.spyOn(store.data, "renewHold").mockRejectedValueOnce(new Error("away"));
    const memory = new RedisChatMemory({ store });
    await memory.withTurn("s", async () => {
      await jest.advanceTimersByTimeAsync(2 * minutes);
      const entry = { ticket: "another", holdMs: seconds, graceMs: seconds };
      expect(await store.data.acquireHold({ id: "s" }, entry)).toMatchObject({ isHeld: false });
    });
    expect(renew.mock.calls.length).toBeGreaterThan(2);
  });
});

describe("a turn that waited for another of its process", () => {
  it("leaves no timer behind", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    await memory.withTurn("s", () => Promise.resolve());
    const before = jest.getTimerCount();
    const first = memory.withTurn("s", () => new Promise((resolve) => setTimeout(resolve, seconds)));
    const second = memory.withTurn("s", () => Promise.resolve("second"), { waitMs: 10 * minutes });
    await jest.advanceTimersByTimeAsync(2 * seconds);
    await first;
    expect(await second).toBe("second");
    expect(jest.getTimerCount()).toBe(before);
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

describe("an agent's hold, where no hook is called for long", () => {
  const open = () => new RedisChatMemory({ store: new InMemorySessionStore() });
  const thread = { configurable: { sessionId: "ann", thread_id: "ann" } };
  const calling = () =>
    new ToolModel((messages) => {
      const last = messages.at(-1)!;
      return last.getType() === "tool" ? `answer to ${last.text}` : lookupCall(last.text);
    });

  it("ends within the time that the next turn waits, where the run failed behind its tools", async () => {
    const broken = createMiddleware({
      name: "broken",
      beforeModel: ({ messages }) => {
        if (messages.at(-1)?.getType() === "tool") {
          throw new Error("broken");
        }
      },
    });
    const memory = open();
    const middleware = [broken, redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: calling(), tools: [lookup], middleware });
    await expect(agent.invoke({ messages: [new HumanMessage("q")] }, thread)).rejects.toThrow("broken");
    const early = memory.withTurn("ann", () => "never", { waitMs: 30 * seconds }).catch((error: unknown) => error);
    const next = memory.withTurn("ann", () => "free");
    await jest.advanceTimersByTimeAsync(59 * seconds);
    expect(await early).toMatchObject({ code: "busy" });
    expect(await next).toBe("free");
  });

  /** An agent whose tool waits, and its run, which has reached the tool. */
  const inTool = async (memory: RedisChatMemory, checkpointer?: MemorySaver) => {
    let [reach, endTool] = [() => undefined as void, (_result: string) => undefined as void];
    const reached = new Promise<void>((resolve) => (reach = resolve));
    const tool = makeTool(
      () => {
        reach();
        return new Promise<string>((resolve) => (endTool = resolve));
      },
      { name: "lookup", schema: z.object({ query: z.string() }) },
    );
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: calling(), tools: [tool], middleware, ...(checkpointer && { checkpointer }) });
    const run = agent.invoke({ messages: [new HumanMessage("q")] }, thread);
    await reached;
    return { run, endTool: () => endTool("found") };
  };

  it("is taken again behind tools that took long, also where another turn came between", async () => {
    const memory = open();
    const { run, endTool } = await inTool(memory);
    await jest.advanceTimersByTimeAsync(60 * seconds);
    await memory.withTurn("ann", (history) => history.addMessages([new HumanMessage("p"), new AIMessage("b")]));
    endTool();
    await run;
    expect(sketch(await memory.history("ann").getTranscript())).toEqual([
      ...["q", "p", "b", "<ai>", "found", "answer to found"],
    ]);
    expect(await memory.withTurn("ann", () => "free", { waitMs: 0 })).toBe("free");
  });

  it("stays for five minutes with a checkpointer, which tells of interrupts and failures", async () => {
    const memory = open();
    const { run, endTool } = await inTool(memory, new MemorySaver());
    const asked = () => memory.withTurn("ann", () => "free", { waitMs: 0 });
    await jest.advanceTimersByTimeAsync(5 * minutes - 20 * seconds);
    await expect(asked()).rejects.toMatchObject({ code: "busy" });
    await jest.advanceTimersByTimeAsync(51 * seconds);
    expect(await asked()).toBe("free");
    endTool();
    await run;
  });
});
