import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { ChatPromptTemplate } from "@langchain/core/prompts";
import fc from "fast-check";
import { createAgent } from "langchain";
import { redisMemoryMiddleware } from "../../src/doors/agent/middleware.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { promptCacheMarks } from "../../src/conversation/reducers/prompt-cache/marks.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { lookup, stepsModel } from "../support/agents.js";
import { orderlyConversation } from "../support/conversations.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { realConversations } from "../support/real-conversations.js";
import { ScriptedModel } from "../support/scripted-model.js";
import { propertyRuns } from "../support/property-runs.js";

const anthropic = promptCacheMarks({ profile: "anthropic" });
const ephemeral = { cache_control: { type: "ephemeral" } };
const isMarked = ({ content }: BaseMessage) =>
  Array.isArray(content) && content.some((block) => "cache_control" in block || "cachePoint" in block);
const markedIn = (messages: readonly BaseMessage[]) => messages.flatMap((m, index) => (isMarked(m) ? [index] : []));

describe("promptCacheMarks", () => {
  it("marks the ends of the system messages and of the newest complete rounds", async () => {
    const messages = [system("s"), human("1"), ai("a"), human("2"), ai("b"), human("3")];
    const marked = await anthropic.invoke(messages);
    expect(markedIn(marked)).toEqual([0, 2, 4]);
    expect(marked[4]!.content).toEqual([{ type: "text", text: "b", ...ephemeral }]);
    expect(marked[4]!.id).toBe(messages[4]!.id);
    expect(marked[5]).toBe(messages[5]);
    expect(markedIn(messages)).toEqual([]);
  });

  it("marks the newest complete step of a round that goes on, with its parallel results", async () => {
    const step = [aiCalls("a", "b"), tool("a"), tool("b")];
    const messages = [system("s"), human("1"), ai("a"), human("2"), ...step, aiCalls("c"), tool("c")];
    expect(markedIn(await anthropic.invoke(messages))).toEqual([0, 2, 6, 8]);
    expect(markedIn(await anthropic.invoke(messages.slice(0, -1)))).toEqual([0, 2, 6]);
  });

  it("adds cache points for Bedrock, and nothing for providers that cache by themselves", async () => {
    const messages = [system("s"), human("1"), ai("a"), human("2")];
    const [first] = await promptCacheMarks({ profile: "bedrock", ttl: "1h" }).invoke(messages);
    expect(first!.content).toEqual([{ type: "text", text: "s" }, { cachePoint: { type: "default", ttl: "1h" } }]);
    expect(await promptCacheMarks({ profile: "openai" }).invoke(messages)).toEqual(messages);
  });

  it.each([
    ["thinking", new AIMessage({ content: [{ type: "thinking", thinking: "t", signature: "s" }] as never })],
    ["blank text", ai(" ")],
    ["standard content", new AIMessage({ content: "a", response_metadata: { output_version: "v1" } })],
  ])("marks the nearest message before one with %s only", async (_, last) => {
    if (last.response_metadata["output_version"] === "v1") {
      last.content = [{ type: "text", text: "a" }];
    }
    expect(markedIn(await anthropic.invoke([human("1"), last, human("2")]))).toEqual([0]);
  });

  it("marks text behind thinking, and the text of results with an image", async () => {
    const thought = new AIMessage({
      content: [
        { type: "thinking", thinking: "t", signature: "s" },
        { type: "text", text: "a" },
      ] as never,
    });
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AA==" } };
    const result = new ToolMessage({ content: [{ type: "text", text: "r" }, image], tool_call_id: "c" });
    const marked = await anthropic.invoke([human("1"), thought, human("2"), aiCalls("c"), result]);
    expect(marked[1]!.content).toEqual([expect.anything(), { type: "text", text: "a", ...ephemeral }]);
    expect(marked[4]!.content).toEqual([expect.anything(), { ...image, ...ephemeral }]);
  });

  it("counts marks that are there already, and never makes more than four", async () => {
    const own = new HumanMessage({ content: [1, 2, 3].map((n) => ({ type: "text", text: `${n}`, ...ephemeral })) });
    const marked = await anthropic.invoke([system("s"), own, ai("a"), human("2"), ai("b"), human("3")]);
    expect(markedIn(marked)).toEqual([1, 4]);
  });

  it.each(["anthropic", "bedrock"] as const)(
    "marks at most four messages for %s, keeps ids and texts, and changes nothing the second time",
    async (profile) => {
      const marks = promptCacheMarks({ profile });
      await fc.assert(
        fc.asyncProperty(orderlyConversation(), async (messages) => {
          const marked = await marks.invoke(messages);
          expect(markedIn(marked).length).toBeLessThanOrEqual(4);
          expect(marked.map(({ id, text }) => ({ id, text }))).toEqual(messages.map(({ id, text }) => ({ id, text })));
          expect(await marks.invoke(marked)).toEqual(marked);
        }),
        { numRuns: propertyRuns(50) },
      );
    },
  );

  it("shares with the request before what marks at system messages and newest round share, on recordings", async () => {
    let ours = 0;
    let plain = 0;
    for (const conversation of realConversations()) {
      let before: { marks: number[]; plain: number[] } = { marks: [], plain: [] };
      for (const [index, message] of conversation.entries()) {
        if (message.getType() !== "ai" || index === 0) {
          continue;
        }
        const prompt = conversation.slice(0, index);
        const marks = markedIn(await anthropic.invoke(prompt));
        const round = prompt.findLastIndex(({ type }) => type === "human") - 1;
        const reference = [prompt.findLastIndex(({ type }) => type === "system"), round].filter((end) => end >= 0);
        const size = (end: number) => prompt.slice(0, end + 1).reduce((sum, { text }) => sum + text.length, 0);
        const shared = (now: readonly number[], then: readonly number[]) =>
          size(Math.max(-1, ...now.filter((end) => then.includes(end))));
        ours += shared(marks, before.marks);
        plain += shared(reference, before.plain);
        before = { marks, plain: reference };
      }
    }
    expect(ours).toBeGreaterThanOrEqual(0.98 * plain);
  });

  it("stands behind a prompt, and refuses options by name", async () => {
    const prompt = ChatPromptTemplate.fromMessages([
      ["system", "s {x}"],
      ["human", "q"],
    ]);
    expect(markedIn(await prompt.pipe(anthropic).invoke({ x: "1" }))).toEqual([0]);
    expect(() => promptCacheMarks({} as never)).toThrow(expect.objectContaining({ option: "profile" }));
    expect(() => promptCacheMarks({ profile: "anthropic", ttl: "2h" } as never)).toThrow(
      expect.objectContaining({ option: "ttl" }),
    );
  });
});

describe("the option promptCacheMarks", () => {
  const config = { configurable: { sessionId: "ann" } };
  const transcriptOf = (memory: RedisChatMemory) => memory.history("ann").getTranscript();

  it("marks what a chain's model is sent, and nothing of it is stored", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), profile: "anthropic" });
    const model = new ScriptedModel(({ length }) => `a${length}`);
    const chain = withRedisMemory(model, { memory, promptCacheMarks: true });
    for (const question of ["one", "two", "three"]) {
      await chain.invoke([human(question)], config);
    }
    expect(model.sent.map(markedIn)).toEqual([[], [1], [1, 3]]);
    expect(markedIn(await transcriptOf(memory))).toEqual([]);
    expect(await transcriptOf(memory)).toHaveLength(6);
  });

  it("marks an agent's requests with its system message, and neither the state nor the session", async () => {
    const memory = new RedisChatMemory({ store: new InMemorySessionStore() });
    const model = stepsModel(3);
    const middleware = [redisMemoryMiddleware({ memory, profile: "anthropic", promptCacheMarks: true })];
    const agent = createAgent({ model, tools: [lookup], systemPrompt: "be brief", middleware });
    await agent.invoke({ messages: [human("one")] }, config);
    const { messages } = await agent.invoke({ messages: [human("two")] }, config);
    // The first question, after each of three steps, and the second question.
    expect(model.sent.map(markedIn)).toEqual([[0], [0, 3], [0, 3, 5], [0, 5, 7], [0, 7, 8]]);
    expect(markedIn(messages)).toEqual([]);
    expect(markedIn(await transcriptOf(memory))).toEqual([]);
  });
});
