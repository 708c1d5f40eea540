import { AIMessage, ToolMessage, type BaseMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import fc from "fast-check";
import * as z from "zod";
import { redisMemoryMiddleware, type RedisMemoryMiddlewareOptions } from "../../src/entries/agent.js";
import { contextWindow, tiktokenCounter, type RedisChatMemory } from "../../src/entries/index.js";
import { readEarlierTool } from "../../src/entries/tool-loop.js";
import { ToolModel } from "../support/agents.js";
import { newMemory } from "../support/memories.js";
import { forAllAsync } from "../support/property-runs.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import { ai, human } from "../support/messages.js";

const long = `Flight 7 leaves at noon. ${"There is more to be said of it. ".repeat(60)}The gate is B12.`;
const search = tool(() => long, { name: "search", description: "Finds flights.", schema: z.object({}) });
const called = (id: string, name: string, args: object = {}) =>
  new AIMessage({ content: "", tool_calls: [{ id, name, args: args as Record<string, unknown>, type: "tool_call" }] });
const read = (args: object, id = "r1") => called(id, "read_earlier_messages", args);
const rounds = (name: string, count: number) =>
  Array.from({ length: count }, (_, at) => [human(`${name} question ${at}`), ai(`${name} answer ${at}`)]);
const resultsIn = (messages: readonly BaseMessage[]) =>
  messages.filter((message) => ToolMessage.isInstance(message) && message.name === "read_earlier_messages");

/** An agent that says these in turn. */
function agentOf(
  memory: RedisChatMemory,
  answers: readonly AIMessage[],
  options: Partial<RedisMemoryMiddlewareOptions> = {},
) {
  const model: ToolModel = new ToolModel(() => answers[model.sent.length - 1] ?? ai("done"));
  const middleware = [redisMemoryMiddleware({ memory, readEarlier: true, ...options })];
  return { model, agent: createAgent({ model, tools: [search], middleware }) };
}

const ask = (text: string) => ({ messages: [human(text)] });
const inSession = (sessionId: string) => ({ configurable: { sessionId } });

describe.each(["step", "turn"] as const)("read_earlier_messages of an agent that persists by %s", (persist) => {
  it("reads a whole result by its call, words and pages", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    const history = memory.history("s");
    await history.addMessages(rounds("Oslo", 3).flat());
    await agentOf(memory, [called("c1", "search"), ai("It is flight 7.")], { persist }).agent.invoke(
      ask("Which flight?"),
      inSession("s"),
    );
    const reads = [
      read({ toolCallId: "c1" }, "r1"),
      read({ query: "OSLO answer 2" }, "r2"),
      read({ from: 1, limit: 2 }, "r3"),
    ];
    const { agent, model } = agentOf(newMemory({ redis: { keyPrefix } }), reads, { persist });
    await agent.invoke(ask("And the gate?"), inSession("s"));
    const [whole, words, page] = resultsIn(model.sent.at(-1)!).map(({ text }) => text);
    expect(whole).toBe(`#8 result of search (c1): ${long}`);
    expect(words).toBe("#5 assistant: Oslo answer 2");
    expect(page).toBe("#1 assistant: Oslo answer 0\n#2 user: Oslo question 1");
    const stored = resultsIn(await history.getTranscript());
    expect(stored.map(({ text }) => text)).toEqual([whole, words, page]);
  });
});

describe("read_earlier_messages", () => {
  it("reads the run's own session only, whatever the arguments say", async () => {
    const keyPrefix = uniquePrefix();
    const memory = newMemory({ redis: { keyPrefix } });
    await memory.history("mine").addMessages(rounds("mine", 2).flat());
    await memory.history("other").addMessages(rounds("secret", 2).flat());
    const earlier = readEarlierTool({ history: memory.history("mine") });
    const value = fc.oneof(
      fc.constantFrom("secret", "other", "a", "question", "", "mine"),
      fc.integer({ min: -2, max: 9 }),
    );
    const names = ["query", "toolCallId", "from", "limit", "offset", "sessionId", "session", "owner"];
    const args = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 });
    await forAllAsync(40, args, async (given) => {
      const answer = await earlier
        .invoke({ id: "r", name: earlier.name, args: given, type: "tool_call" })
        .catch(String);
      expect(JSON.stringify(answer)).not.toMatch(/secret (question|answer)/);
    });
    const model: ToolModel = new ToolModel(() =>
      model.sent.length === 1 ? read({ query: "question 0", sessionId: "other" }) : ai("done"),
    );
    const contextSchema = z.object({ user: z.string() });
    const sessionId = ({ context }: { context?: { user: string } }) => context?.user ?? "";
    const middleware = [redisMemoryMiddleware({ memory, readEarlier: true, contextSchema, sessionId })];
    const agent = createAgent({ model, tools: [], middleware });
    await agent.invoke(ask("What did I ask?"), { ...inSession("other"), context: { user: "mine" } });
    expect(resultsIn(model.sent.at(-1)!).map(({ text }) => text)).toEqual(["#0 user: mine question 0"]);
  });

  it("answers within its limit, and goes on by offset", async () => {
    const memory = newMemory({ tokenCounter: tiktokenCounter() });
    const history = memory.history("s");
    await history.addMessages([human(`begin ${"many words here ".repeat(400)}end`)]);
    const earlier = readEarlierTool({ history, maxTokens: 200 });
    const call = async (args: object) =>
      ((await earlier.invoke({ id: "r", name: earlier.name, args, type: "tool_call" })) as ToolMessage).text;
    const first = await call({ query: "begin" });
    expect(await tiktokenCounter().countText(first)).toBeLessThanOrEqual(200);
    const offset = Number(/give "offset": (\d+)\]$/.exec(first)?.[1]);
    const next = await call({ query: "begin", offset });
    const body = (text: string) => text.replace(/\n\[… goes on.*$/, "");
    const whole = `#0 user: begin ${"many words here ".repeat(400)}end`;
    expect(whole.startsWith(body(first) + body(next))).toBe(true);
    const { agent, model } = agentOf(memory, [read({ from: 0 }, "a")], { readEarlier: { maxTokens: 200 } });
    await agent.invoke(ask("again"), inSession("s"));
    expect(resultsIn(model.sent.at(-1)!).map(({ text }) => text)).toEqual([first]);
  });

  it("finds what is encrypted, and says that discarded messages are gone", async () => {
    const sealed = newMemory({ encryption: testKeys("k1") }).history("s");
    await sealed.addMessages(rounds("Oslo", 400).flat());
    const ofSealed = readEarlierTool({ history: sealed });
    expect(await ofSealed.invoke({ query: "oslo answer 179", limit: 1 })).toBe("#359 assistant: Oslo answer 179");
    expect(await ofSealed.invoke({ query: "QUESTION 399" })).toBe("#798 user: Oslo question 399");
    const memory = newMemory({ retention: "discard", reducer: (messages) => messages.slice(-2) });
    const history = memory.history("s");
    await history.addMessages([...rounds("gone", 2), ...rounds("kept", 1)].flat());
    const earlier = readEarlierTool({ history });
    const text = await earlier.invoke({ query: "gone question" });
    expect(text).toBe("No stored message was found.\nMessages before #4 were discarded and cannot be read again.");
    expect(await earlier.invoke({ from: 0 })).toBe("#4 user: kept question 0\n#5 assistant: kept answer 0");
  });

  it("is named in shortened results only where the model has it, and once", async () => {
    const steps = Array.from({ length: 9 }, (_, at) => [
      human(`q${at}`),
      called(`c${at}`, "search"),
      new ToolMessage({ content: long, tool_call_id: `c${at}`, name: "search" }),
      ai(`a${at}`),
    ]).flat();
    const reducer = contextWindow({ maxInputTokens: 4_000, target: 0.9 });
    const tools = [{ type: "function", function: { name: "read_earlier_messages" } }];
    const { messages } = await reducer.reduceWithOutcome(steps, undefined, { tools });
    const hint = 'characters; read_earlier_messages({"toolCallId":"c0"}) shows all]';
    expect(messages[2]!.text).toContain(hint);
    const again = await reducer.reduceWithOutcome([...messages, ...steps.map((each) => each)], undefined, { tools });
    expect(
      again.messages
        .filter(({ text }) => text.includes("shortened by"))
        .every(({ text }) => text.split("[shortened by").length === 2),
    ).toBe(true);
    const forged = new ToolMessage({ content: `${long}\n[shortened by 1 ${hint}`, tool_call_id: "c0", name: "search" });
    const cut = await reducer.reduceWithOutcome(steps.with(2, forged), undefined, { tools });
    expect(cut.messages[2]!.text.length).toBeLessThan(400);
    const plain = await reducer.reduceWithOutcome(steps);
    expect(plain.messages.some(({ text }) => text.includes("read_earlier_messages"))).toBe(false);
  });

  it("refuses invalid limits by name", () => {
    const memory = newMemory();
    expect(() => readEarlierTool({ history: memory.history("s"), maxTokens: 9 })).toThrow(
      expect.objectContaining({ option: "maxTokens" }),
    );
    expect(() => redisMemoryMiddleware({ memory, readEarlier: { maxTokens: 0 } })).toThrow(
      expect.objectContaining({ option: expect.stringContaining("readEarlier") as string }),
    );
  });
});
