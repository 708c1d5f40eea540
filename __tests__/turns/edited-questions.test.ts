import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { createAgent, piiMiddleware } from "langchain";
import { redisMemoryMiddleware } from "../../src/entries/agent.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory, type RedisChatMemoryOptions } from "../../src/entries/index.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { sketch, ToolModel } from "../support/agents.js";

type Ask = (message: HumanMessage, turnId?: string) => Promise<string>;

const config = (turnId?: string) => ({ configurable: { sessionId: "ann", ...(turnId && { turnId }) } });
const answer = (messages: BaseMessage[]) => `answer to ${messages.at(-1)!.text}`;

/** A chain and an agent, each with both settings of `persist`. */
const doors: [door: string, persist: "turn" | "step", make: (memory: RedisChatMemory) => Ask][] = (
  ["turn", "step"] as const
).flatMap((persist) => [
  [
    "a chain",
    persist,
    (memory) => {
      const model = RunnableLambda.from((messages: BaseMessage[]) => new AIMessage(answer(messages)));
      const chain = withRedisMemory(model, { memory, persist });
      return async (message, turnId) => (await chain.invoke([message], config(turnId))).text;
    },
  ],
  [
    "an agent",
    persist,
    (memory) => {
      const middleware = [redisMemoryMiddleware({ memory, persist }), piiMiddleware("email", { strategy: "redact" })];
      const agent = createAgent({ model: new ToolModel(answer), tools: [], middleware });
      return async (message, turnId) => {
        const { messages } = await agent.invoke({ messages: [message] }, config(turnId));
        return messages.at(-1)!.text;
      };
    },
  ],
]);

function newMemory(options: Partial<RedisChatMemoryOptions> = {}) {
  const events: string[] = [];
  const onEvent = ({ type }: { readonly type: string }) => events.push(type);
  const memory = new RedisChatMemory({
    store: new InMemorySessionStore(),
    onEvent,
    ...options,
  } as RedisChatMemoryOptions);
  return { memory, events, stored: async () => sketch(await memory.history("ann").getTranscript()) };
}

const asked = (content: string | { type: "text"; text: string }[]) => new HumanMessage({ id: "q1", content });
/** What a run rejects with: an agent's is an error of LangChain, and this package's error its cause. */
const conflict = expect.objectContaining({ code: "content", messageId: "q1", retryable: false });
const refusal = (error: unknown) => (error as { code?: string }).code ?? (error as Error).cause;
const refused = async (run: Promise<string>) => {
  const error: unknown = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  return typeof refusal(error) === "string" ? error : refusal(error);
};

describe.each(doors)("a question of %s with persist: %s whose id comes again", (_door, _persist, make) => {
  it("is a retry with the same text, and a conflict with another one", async () => {
    const { memory, events, stored } = newMemory();
    const ask = make(memory);
    expect(await ask(asked("one"))).toBe("answer to one");
    expect(await ask(asked("one"))).toBe("answer to one");
    expect(await ask(asked([{ type: "text", text: "one" }]))).toBe("answer to one");
    expect(await refused(ask(asked("two")))).toEqual(conflict);
    await memory.drain();
    expect(await stored()).toEqual(["one", "answer to one"]);
    expect(events).not.toContain("turn_not_stored");
  });

  it("is a conflict with another text also where the turn has a name, or no answer yet", async () => {
    const { memory, stored } = newMemory();
    const ask = make(memory);
    await memory.history("ann").addMessage(asked("one"));
    expect(await refused(ask(asked("two")))).toEqual(conflict);
    expect(await ask(asked("one"))).toBe("answer to one");
    await ask(new HumanMessage({ id: "q2", content: "three" }), "job-2");
    const other = ask(new HumanMessage({ id: "q2", content: "four" }), "job-2");
    expect(await refused(other)).toEqual(expect.objectContaining({ code: "content", messageId: "q2" }));
    expect(await stored()).toEqual(["one", "answer to one", "three", "answer to three"]);
  });

  it("is a retry where the message was changed before it was stored", async () => {
    const { memory, stored } = newMemory({
      beforeStore: (message) => {
        message.content = message.text.replaceAll(/\d{4}/g, "[card]");
        return message;
      },
    });
    const ask = make(memory);
    const first = await ask(asked("my card 1234, my mail ann@example.com"));
    const again = await ask(asked("my card 1234, my mail ann@example.com"));
    expect(again).toBe((await stored()).at(-1));
    expect(first.slice(0, 17)).toBe(again.slice(0, 17));
    expect(await refused(ask(asked("another question")))).toEqual(conflict);
  });

  it("keeps the stored one with onConflict: keep, and tells of it", async () => {
    const { memory, events } = newMemory({ onConflict: "keep" });
    const ask = make(memory);
    await ask(asked("one"));
    expect(await ask(asked("two"))).toBe("answer to one");
    expect(events).toContain("conflict_kept");
  });

  it("is a retry with the name of the turn and no id: the name is the caller's word for it", async () => {
    const { memory, stored } = newMemory();
    const ask = make(memory);
    await ask(new HumanMessage("one, asked at noon"), "job-1");
    expect(await ask(new HumanMessage("one, asked at one"), "job-1")).toBe("answer to one, asked at noon");
    expect(await stored()).toHaveLength(2);
  });
});

describe("a question whose id comes again by itself", () => {
  it("is a conflict in a history", async () => {
    const { memory } = newMemory();
    await memory.history("ann").addMessage(asked("one"));
    await memory.history("ann").addMessage(asked("one"));
    await expect(memory.history("ann").addMessage(asked("two"))).rejects.toEqual(conflict);
  });

  it("is no conflict in a HistoryManager, which knows the turn by its name", async () => {
    const { memory, stored } = newMemory();
    for (const text of ["one, asked at noon", "one, asked at one"]) {
      const manager = new HistoryManager({ history: memory.history("ann"), maxInputTokens: 1_000 });
      const request = { originalUserMessage: text, renderedUserMessage: text, renderedSystemMessage: "Be brief." };
      const { messages } = await manager.getHistoryForModelCall({ ...request, turnId: "job-1" });
      expect(messages.filter((message) => message.getType() === "human")).toHaveLength(1);
      manager.addAssistantMessage(new AIMessage("answer"));
      await manager.commit();
    }
    expect(await stored()).toEqual(["one, asked at noon", "answer"]);
  });
});
