import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { InMemorySessionStore, RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { holdAgain } from "../../src/memory/session/hold/acquire-hold.js";

describe("a hold that is taken again", () => {
  const options = { owner: "test", waitMs: 0, holdMs: 10_000 };
  const open = () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    return { memory, session: sessionOf("test", memory.history("s")) };
  };

  it.each([true, false])("keeps others out (asked for: %s)", async (isAsked) => {
    const { memory, session } = open();
    const held = await holdAgain(session, { ...options, isAsked });
    await expect(memory.withTurn("s", () => undefined, { waitMs: 0 })).rejects.toMatchObject({ code: "busy" });
    await held!.release();
    expect(await memory.withTurn("s", () => "free", { waitMs: 0 })).toBe("free");
  });

  it("is refused within a turn of its session where it was asked for, and else not needed", async () => {
    const { memory, session } = open();
    await memory.withTurn("s", async () => {
      const refused = { code: "nested_turn", message: expect.stringMatching(/^test: /) as string };
      await expect(holdAgain(session, { ...options, isAsked: true })).rejects.toMatchObject(refused);
      expect(await holdAgain(session, { ...options, isAsked: false })).toBeUndefined();
    });
  });
});

describe("a reduction behind the write that gives the session back", () => {
  it("is committed though another turn has begun meanwhile", async () => {
    const store = new InMemorySessionStore();
    let [reached, goOn]: (() => void)[] = [];
    const reducing = new Promise<void>((resolve) => (reached = resolve));
    const gate = new Promise<void>((resolve) => (goOn = resolve));
    const reducer = RunnableLambda.from(async (messages: BaseMessage[]) => {
      if (messages.length > 1) {
        reached!();
        await gate;
      }
      return messages.slice(-1);
    });
    const memory = new RedisChatMemory({ store, reducer, reduceWhen: "always" });
    const chain = withRedisMemory(new RunnableLambda({ func: () => "a" }), { memory, oneTurnAtATime: true });
    const run = chain.invoke([new HumanMessage("q")], { configurable: { sessionId: "s" } });
    await reducing;
    const entry = { ticket: "another", holdMs: 60_000, graceMs: 2_000 };
    expect(await store.data.acquireHold({ id: "s" }, entry)).toMatchObject({ isHeld: true });
    goOn!();
    await run;
    expect(await memory.history("s").getMessages()).toHaveLength(1);
  });
});

describe("whether this process holds the session that a turn waits for", () => {
  it("is told by the event, also where it held it before", async () => {
    const store = new InMemorySessionStore();
    const told: unknown[] = [];
    const ref = { id: "s" };
    const onEvent = (event: { type: string }) => {
      if (event.type === "turn_waits") {
        told.push(event);
        void store.data.releaseHold(ref, "another");
      }
    };
    const memory = new RedisChatMemory({ store, onEvent });
    await memory.withTurn("s", () => undefined);
    await store.data.acquireHold(ref, { ticket: "another", holdMs: 60_000, graceMs: 2_000 });
    const waiting = memory.withTurn("s", () => undefined, { waitMs: 0 });
    await expect(waiting).rejects.toThrow(/nothing was done\. Try again\.$/);
    await memory.withTurn("s", () => undefined);
    expect(told).toEqual([{ type: "turn_waits", sessionId: "s", isHeldHere: false }]);
  });
});

describe("a turn that waits behind another one of its process", () => {
  it("says so, and ends by its own time, before the other one does", async () => {
    const store = new InMemorySessionStore();
    let told = 0;
    const onEvent = ({ type }: { type: string }) => void (told += type === "turn_waits" ? 1 : 0);
    const memory = new RedisChatMemory({ store, onEvent });
    await store.data.acquireHold({ id: "s" }, { ticket: "another", holdMs: 60_000, graceMs: 2_000 });
    const ended: number[] = [];
    const turns = [1_000, 20].map(async (waitMs) => {
      await expect(memory.withTurn("s", () => undefined, { waitMs })).rejects.toMatchObject({ code: "busy" });
      ended.push(waitMs);
    });
    await Promise.all(turns);
    expect([ended, told]).toEqual([[20, 1_000], 2]);
  });
});
