import { type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { RunnableLambda } from "@langchain/core/runnables";
import { ChatOpenAI } from "@langchain/openai";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/entries/index.js";
import { conversationGuard } from "../../src/entries/structure.js";
import { ToolModel } from "../support/agents.js";
import { closeMemories, guesses, newMemory } from "../support/memories.js";
import { nativeAnswers } from "../support/native-answers.js";

afterEach(closeMemories);

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

describe('the profile "auto"', () => {
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

  it("follows the option model of a conversationGuard, and is neutral without one", async () => {
    const given = foreignRounds("openai");
    const guard = conversationGuard({ mode: "repair", model: new ChatOpenAI({ model: "gpt-4o", apiKey: "none" }) });
    expect(blockTypes(await guard.invoke(given)).filter((type) => type !== "text")).toEqual([]);
    const neutral = conversationGuard({ mode: "repair", profile: "auto" });
    const named = conversationGuard({ mode: "repair", profile: "neutral" });
    expect(await neutral.invoke(given)).toEqual(await named.invoke(given));
  });
});
