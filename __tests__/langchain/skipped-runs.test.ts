import { AIMessage } from "@langchain/core/messages";
import { createAgent, createMiddleware } from "langchain";
import { redisMemoryMiddleware } from "../../src/agent/middleware.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import { sketch, ToolModel } from "../support/agents.js";
import { human } from "../support/messages.js";

const ann = { configurable: { sessionId: "ann" } };

describe("a run that another middleware ends before the memory's first hook of a model call", () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: ["nextTick", "setImmediate", "queueMicrotask"] }));
  afterEach(() => jest.useRealTimers());

  it.each(["turn", "step"] as const)("is told of, because nothing of it is stored (persist: %s)", async (persist) => {
    const events: MemoryEvent[] = [];
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), onEvent: (event) => events.push(event) });
    const refusing = createMiddleware({
      name: "Refusing",
      beforeModel: {
        canJumpTo: ["end"],
        hook: () => ({ messages: [new AIMessage({ content: "no", id: "no" })], jumpTo: "end" as const }),
      },
    });
    const middleware = [refusing, redisMemoryMiddleware({ memory, persist })];
    const agent = createAgent({ model: new ToolModel(() => "yes"), tools: [], middleware });
    const { messages } = await agent.invoke({ messages: [human("q", "q1")] }, ann);
    expect(sketch(messages)).toEqual(["q", "no"]);
    await jest.advanceTimersByTimeAsync(10_000);
    jest.useRealTimers();
    await memory.drain();
    const told = { type: "turn_not_stored", sessionId: "ann", turnId: "q1", reason: "skipped" };
    expect(events).toEqual([told]);
    expect(await memory.history("ann").getTranscript()).toEqual([]);
  });
});
