import { HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { createAgent } from "langchain";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { AppendOptions, AppendOutcome } from "../../src/memory/session/append-input.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ToolModel } from "../support/agents.js";
import { managerTurn } from "../support/manager-turn.js";
import { ai } from "../support/messages.js";

/** Stores `#` for each digit, but for those in results of tools. */
class RedactingHistory extends RedisChatMessageHistory {
  override append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
    const redacted = messages.map((message) => {
      const Kind = message.constructor as new (fields: object) => BaseMessage;
      const content = message.text.replaceAll(/\d/g, "#");
      return message instanceof ToolMessage ? message : new Kind({ id: message.id, content });
    });
    return super.append(redacted, options);
  }
}

class RedactingMemory extends RedisChatMemory {
  readonly #store: InMemorySessionStore;

  constructor(store: InMemorySessionStore) {
    super({ store });
    this.#store = store;
  }

  override history(sessionId: string): RedisChatMessageHistory {
    return new RedactingHistory({ sessionId, store: this.#store });
  }
}

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

describe("a history that overrides append decides about everything that is written", () => {
  const store = new InMemorySessionStore();

  it("by LangChain's methods", async () => {
    const history = new RedactingHistory({ sessionId: "langchain", store });
    await history.addUserMessage("card 4111");
    await history.addAIMessage("card 4112");
    await history.addMessage(new HumanMessage("card 4113"));
    await history.addMessages([new HumanMessage("card 4114")]);
    expect(texts(await history.getTranscript())).toEqual(Array.from({ length: 4 }, () => "card ####"));
  });

  it("by a HistoryManager", async () => {
    const history = new RedactingHistory({ sessionId: "manager", store });
    await managerTurn(history, "card 4111", "your card 4111");
    expect(texts(await history.getTranscript())).toEqual(["card ####", "your card ####"]);
  });

  it("by withRedisMemory", async () => {
    const memory = new RedactingMemory(store);
    const chain = withRedisMemory(
      RunnableLambda.from(() => ai("your card 4111")),
      { memory },
    );
    await chain.invoke("card 4111", { configurable: { sessionId: "chain" } });
    expect(texts(await memory.history("chain").getTranscript())).toEqual(["card ####", "your card ####"]);
  });

  it.each(["turn", "step"] as const)(
    "by the middleware of an agent, whose next question sees it (%s)",
    async (persist) => {
      const memory = new RedactingMemory(store);
      const model = new ToolModel(() => "your card 4111");
      const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory, persist })] });
      for (const id of ["q1", "q1", "q2"]) {
        const messages = [new HumanMessage({ id, content: "card 4111" })];
        await agent.invoke({ messages }, { configurable: { sessionId: `agent ${persist}` } });
      }
      const stored = ["card ####", "your card ####"];
      expect(model.sent.map(texts)).toEqual([["card 4111"], [...stored, "card 4111"]]);
      expect(texts(await memory.history(`agent ${persist}`).getTranscript())).toEqual([...stored, ...stored]);
    },
  );
});

describe("a history that returns an outcome of its own from append", () => {
  class Counting extends RedisChatMessageHistory {
    override async append(messages: readonly BaseMessage[], options?: AppendOptions): Promise<AppendOutcome> {
      const { appended, duplicates, next, repeated } = await super.append(messages, options);
      return { appended, duplicates, next, repeated };
    }
  }

  it("serves a run whose turn another run stored meanwhile", async () => {
    const store = new InMemorySessionStore();
    const memory = Object.assign(new RedisChatMemory({ store }), {
      history: (sessionId: string) => new Counting({ sessionId, store }),
    });
    const config = { configurable: { sessionId: "s", turnId: "job" } };
    const first = withRedisMemory(
      RunnableLambda.from(() => ai("the first answer")),
      { memory },
    );
    const second = withRedisMemory(
      RunnableLambda.from(async () => {
        await first.invoke("hi", config);
        return ai("the second answer");
      }),
      { memory },
    );
    expect(((await second.invoke("hi", config)) as BaseMessage).text).toBe("the first answer");
  });
});

describe("an append", () => {
  const history = new RedisChatMessageHistory({ sessionId: "plain", store: new InMemorySessionStore() });

  it("returns what was written and nothing of the store", async () => {
    const outcome = await history.append([new HumanMessage("hi")], { turnId: "job" });
    expect(outcome).toEqual({ appended: 1, duplicates: 0, next: 1, repeated: false });
  });

  it("refuses a turn that no chain or agent made", async () => {
    const append = history.append([new HumanMessage("hi")], { turn: { done: false } as never });
    await expect(append).rejects.toMatchObject({ name: "ConfigurationError", option: "turn" });
  });
});

describe("a history that overrides addMessages only", () => {
  class Upper extends RedisChatMessageHistory {
    override addMessages(messages: BaseMessage[]): Promise<void> {
      return super.addMessages(messages.map(({ text }) => new HumanMessage(text.toUpperCase())));
    }
  }
  const upper = (): Upper => new Upper({ sessionId: "s", store: new InMemorySessionStore() });
  const memory = Object.assign(new RedisChatMemory({ store: new InMemorySessionStore() }), { history: upper });
  const refused = { name: "ConfigurationError", option: "history", message: expect.stringContaining("append") };
  const config = { configurable: { sessionId: "s" } };

  it("decides about what LangChain's methods write", async () => {
    const history = upper();
    await history.addUserMessage("hi");
    expect(texts(await history.getTranscript())).toEqual(["HI"]);
  });

  it("is refused by a HistoryManager, whose turns would be stored without it", () => {
    expect(() => new HistoryManager({ history: upper(), maxInputTokens: 100 })).toThrow(
      expect.objectContaining(refused) as Error,
    );
  });

  it("is refused by withRedisMemory before the chain runs", async () => {
    const answer = jest.fn(() => ai("hi"));
    const chain = withRedisMemory(RunnableLambda.from(answer), { memory });
    await expect(chain.invoke("hi", config)).rejects.toMatchObject(refused);
    expect(answer).not.toHaveBeenCalled();
  });

  it("is refused by the middleware before the model is called", async () => {
    const model = new ToolModel(() => "hi");
    const agent = createAgent({ model, tools: [], middleware: [redisMemoryMiddleware({ memory })] });
    await expect(agent.invoke({ messages: [new HumanMessage("hi")] }, config)).rejects.toThrow("overrides addMessages");
    expect(model.sent).toEqual([]);
  });
});

describe("an object that only looks like a history", () => {
  const real = new RedisChatMessageHistory({ sessionId: "s", store: new InMemorySessionStore() });
  const methods = ["getMessages", "addMessages", "append", "getRounds", "getTranscript", "clear", "rewind"];
  const lookalike = Object.fromEntries(methods.map((name) => [name, async () => []]));

  it.each([
    ["an object with its methods", lookalike],
    ["an object that inherits from one", Object.create(real) as object],
    ["a proxy of one", new Proxy(real, {})],
    ["a string", "history"],
    ["nothing", undefined],
  ])("is refused by HistoryManager: %s", (_, history) => {
    expect(() => new HistoryManager({ history, maxInputTokens: 100 } as never)).toThrow(
      expect.objectContaining({ name: "ConfigurationError", option: "history" }),
    );
  });

  it("is refused by withRedisMemory where its memory returns one", async () => {
    const memory = { history: () => lookalike, getMessageHistory: () => lookalike };
    const chain = withRedisMemory(
      RunnableLambda.from(() => ai("hi")),
      { memory: memory as never },
    );
    await expect(chain.invoke("hi", { configurable: { sessionId: "s" } })).rejects.toMatchObject({
      name: "ConfigurationError",
      option: "history",
    });
  });
});
