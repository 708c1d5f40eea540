import { ChatAnthropic } from "@langchain/anthropic";
import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { type RedisChatMemory, withRedisMemory } from "../../src/entries/index.js";
import { conversationGuard } from "../../src/entries/structure.js";
import { HistoryManager } from "../../src/doors/tool-loop/history-manager.js";
import { type ProviderServer, startProviderServer } from "../../testing/provider-server.js";
import type { WireKind } from "../../testing/wire/findings.js";
import { lookup, ToolModel } from "../support/agents.js";
import { guesses, newMemory } from "../support/memories.js";
import { nativeAnswers } from "../support/native-answers.js";

class OurClaude extends ChatAnthropic {}
class OurChat extends ChatOpenAI {}

const apiKey = "none";
const atServer = (url: string) => ({ apiKey, maxRetries: 0, configuration: { baseURL: `${url}/v1` } });

interface Target {
  readonly kind: WireKind;
  /** Prefix of the names of its provider's own answers, whose signatures the server did not give out. */
  readonly own: string;
  readonly model: (url: string) => ChatAnthropic | ChatOpenAI;
}

const targets: Readonly<Record<string, Target>> = {
  "a subclass of ChatAnthropic": {
    kind: "anthropic",
    own: "anthropic",
    model: (url) => new OurClaude({ model: "claude-opus-4-8", apiKey, anthropicApiUrl: url, maxRetries: 0 }),
  },
  "a subclass of ChatOpenAI": {
    kind: "openai-chat",
    own: "openai",
    model: (url) => new OurChat({ model: "gpt-4o", ...atServer(url) }),
  },
  "ChatOpenAI on Responses": {
    kind: "openai-responses",
    own: "openai",
    model: (url) => new OurChat({ model: "gpt-5.5", useResponsesApi: true, ...atServer(url) }),
  },
};

const doors = {
  chain: async (model: ReturnType<Target["model"]>, memory: RedisChatMemory) => {
    await withRedisMemory(model.bindTools([lookup]), { memory }).invoke("And now?", ann);
  },
  agent: async (model: ReturnType<Target["model"]>, memory: RedisChatMemory) => {
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model, tools: [lookup], systemPrompt: "Be brief.", middleware });
    await agent.invoke({ messages: [new HumanMessage("And now?")] }, ann);
  },
};

const ann = { configurable: { sessionId: "ann", thread_id: "ann" } };

const said = { text: "I look.", thought: "I should look.", args: { query: "x" } };

/** Rounds whose answers other adapters made, as they made them. */
function foreignRounds(own: string): BaseMessage[] {
  const names = Object.keys(nativeAnswers).filter((name) => !name.startsWith(own));
  return names.flatMap((name) => [
    new HumanMessage(`Ask ${name}.`),
    // Two of them have the same id.
    Object.assign(nativeAnswers[name]!(said), { id: `answer of ${name}` }),
    ...["call_1", "call_2"].map((id) => new ToolMessage({ content: "found x", tool_call_id: id })),
  ]);
}

let server: ProviderServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

describe('the profile "auto"', () => {
  describe.each(Object.keys(doors) as (keyof typeof doors)[])("in a door: %s", (door) => {
    it.each(Object.keys(targets))("sends answers of other providers as %s takes them", async (name) => {
      const { kind, own, model } = targets[name]!;
      const memory = newMemory();
      await memory.history("ann").addMessages(foreignRounds(own));
      server = await startProviderServer({ kind });
      await doors[door](model(server.url), memory);
      expect(server.requests.map(({ violations }) => violations)).toEqual([[]]);
      expect(guesses).toEqual([]);
    });
  });

  it("reports a model that is not known once per class, in agents", async () => {
    const memory = newMemory();
    const middleware = [redisMemoryMiddleware({ memory })];
    const agent = createAgent({ model: new ToolModel(() => "a"), tools: [], middleware });
    await agent.invoke({ messages: [new HumanMessage("q1")] }, ann);
    await agent.invoke({ messages: [new HumanMessage("q2")] }, ann);
    expect(guesses).toEqual([{ type: "profile_guessed", sessionId: "ann", className: "ToolModel" }]);
  });

  it("reports a function in place of a model, in chains", async () => {
    const answer = RunnableLambda.from(() => "a");
    const chain = withRedisMemory(answer, { memory: newMemory() });
    expect(await chain.invoke("q", ann)).toBe("a");
    expect(guesses).toEqual([{ type: "profile_guessed", sessionId: "ann", className: "RunnableLambda" }]);
  });

  const blockTypes = (messages: readonly BaseMessage[]) => {
    return messages.flatMap(({ content }) => (typeof content === "string" ? [] : content.map(({ type }) => type)));
  };
  const gpt = () => new OurChat({ model: "gpt-4o", apiKey });

  it("follows the option model of a HistoryManager", async () => {
    const memory = newMemory();
    const history = memory.history("ann");
    await history.addMessages(foreignRounds("openai"));
    const request = { originalUserMessage: "q", renderedUserMessage: "q", renderedSystemMessage: "" };
    const manager = new HistoryManager({ history, maxInputTokens: 8_000, model: gpt() });
    const { messages } = await manager.getHistoryForModelCall(request);
    expect(messages.length).toBeGreaterThan(5);
    expect(blockTypes(messages).filter((type) => type !== "text")).toEqual([]);
    expect(guesses).toEqual([]);
  });

  it("follows the option model of a conversationGuard, and is neutral without one", async () => {
    const given = foreignRounds("openai");
    const guard = conversationGuard({ mode: "repair", model: gpt() });
    expect(blockTypes(await guard.invoke(given)).filter((type) => type !== "text")).toEqual([]);
    const neutral = conversationGuard({ mode: "repair", profile: "auto" });
    const named = conversationGuard({ mode: "repair", profile: "neutral" });
    expect(await neutral.invoke(given)).toEqual(await named.invoke(given));
  });
});
