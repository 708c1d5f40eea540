import { HumanMessage } from "@langchain/core/messages";
import { createAgent, createMiddleware } from "langchain";
import { redisMemoryMiddleware } from "../../src/agent/middleware.js";
import { SpentTickets } from "../../src/session/hold/spent-tickets.js";
import { HeldTurn } from "../../src/session/hold/held-session.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { lookup, lookupCall, ToolModel } from "../support/agents.js";

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
    await jest.advanceTimersByTimeAsync(5 * minutes - seconds);
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

describe("an agent with oneTurnAtATime whose run ends where no hook is called", () => {
  it("holds its session for five minutes", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const broken = createMiddleware({
      name: "broken",
      beforeModel: ({ messages }) => {
        if (messages.at(-1)?.getType() === "tool") {
          throw new Error("broken");
        }
      },
    });
    const agent = createAgent({
      model: new ToolModel((messages) => lookupCall(messages.at(-1)!.text)),
      tools: [lookup],
      middleware: [broken, redisMemoryMiddleware({ memory, oneTurnAtATime: true })],
    });
    const run = agent.invoke({ messages: [new HumanMessage("q")] }, { configurable: { sessionId: "ann" } });
    await expect(run).rejects.toThrow("broken");
    const asked = () => memory.withTurn("ann", () => "free", { waitMs: 0 });
    await jest.advanceTimersByTimeAsync(5 * minutes - 20 * seconds);
    await expect(asked()).rejects.toMatchObject({ code: "busy" });
    await jest.advanceTimersByTimeAsync(51 * seconds);
    expect(await asked()).toBe("free");
  });
});
