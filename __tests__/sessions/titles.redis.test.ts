import { AIMessage } from "@langchain/core/messages";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { closeMemories, events, newMemory } from "../support/memories.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { ScriptedModel, type Script } from "../support/scripted-model.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";

afterEach(closeMemories);

const usage_metadata = { input_tokens: 90, output_tokens: 5, total_tokens: 95 };
const named = (content: string) => new AIMessage({ content, usage_metadata });
const titleEvents = () => events.filter(({ type }) => type === "titled" || type === "title_failed");

/** Instances that share sessions, and the model that titles them. */
function instances(script: Script, count = 1, settings: Parameters<typeof newMemory>[0] = {}) {
  const model = new ScriptedModel(script);
  const redis = { keyPrefix: uniquePrefix() };
  const memories = Array.from({ length: count }, () => newMemory({ ...settings, redis, titles: { model } }));
  return { model, memories: memories as [RedisChatMemory, ...RedisChatMemory[]], redis };
}

describe.each([
  ["plain", {}],
  ["encrypted", { encryption: testKeys("k1") }],
])("a %s session", (_, settings) => {
  it("gets one title after its first answer, over all instances, without the tool results", async () => {
    const { model, memories, redis } = instances(() => named('"Trip to Oslo"\nmore'), 3, settings);
    const question = memories[0].history("s", { owner: "ann", metadata: { pinned: true } });
    await question.addMessages([human("Weather in Oslo?"), aiCalls("c1"), tool("c1", "hidden")]);
    await memories[0].drain();
    expect(model.sent).toEqual([]);
    await Promise.all(memories.map((memory, at) => memory.history("s", { owner: "ann" }).addMessages([ai(`a${at}`)])));
    await Promise.all(memories.map((memory) => memory.drain()));
    const asked = model.sent.length;
    expect(asked).toBeLessThanOrEqual(memories.length);
    expect(model.sent[0]!.at(-1)!.text).toContain("user: Weather in Oslo?");
    expect(model.sent[0]!.at(-1)!.text).not.toContain("hidden");
    expect(titleEvents()).toEqual([{ type: "titled", sessionId: "s", usage: usage_metadata }]);
    const reader = newMemory({ ...settings, redis });
    const { sessions } = await reader.sessions.list({ owner: "ann" });
    expect(sessions).toMatchObject([{ title: "Trip to Oslo", metadata: { pinned: true } }]);
    await memories[1]!.history("s", { owner: "ann" }).addMessages([human("and Rome?"), ai("18")]);
    await memories[1]!.drain();
    expect(model.sent).toHaveLength(asked);
  });
});

it("a title that a user gives while the model thinks stays", async () => {
  let answer!: (title: string) => void;
  let ask!: () => void;
  const asked = new Promise<void>((resolve) => (ask = resolve));
  const { memories } = instances(() => {
    ask();
    return new Promise<string>((resolve) => (answer = resolve));
  });
  const [memory] = memories;
  await memory.history("s").addMessages([human("q"), ai("a")]);
  await asked;
  await memory.sessions.update("s", { title: "Mine" });
  answer("The model's");
  await memory.drain();
  expect(await memory.sessions.get("s")).toMatchObject({ title: "Mine" });
  expect(titleEvents()).toEqual([]);
});

it("a failure is an event, fails no turn, and the next answer tries again up to the third round", async () => {
  const { model, memories } = instances(() => new Error("model down"));
  const [memory] = memories;
  const turn = { configurable: { sessionId: "s" } };
  const chain = withRedisMemory(new ScriptedModel(() => "answer"), { memory });
  for (let round = 1; round <= 4; round += 1) {
    expect((await chain.invoke(`question ${round}`, turn)).text).toBe("answer");
    await memory.drain();
  }
  expect(model.sent).toHaveLength(3);
  expect(titleEvents()).toMatchObject([1, 2, 3].map(() => ({ type: "title_failed", sessionId: "s" })));
  await memory.history("s").clear();
  await chain.invoke("a new session of this id", turn);
  await memory.drain();
  expect(model.sent).toHaveLength(4);
});

it("a prompt of one's own takes the place of the default", async () => {
  const model = new ScriptedModel(() => "Voyage");
  const memory = newMemory({ titles: { model, prompt: "One word." } });
  await memory.history("s").addMessages([human("q"), ai("a")]);
  await memory.drain();
  expect(model.sent[0]![0]!.text).toBe("One word.");
  expect(await memory.sessions.get("s")).toMatchObject({ title: "Voyage" });
});

it("no stream of the run shows the title", async () => {
  const { memories } = instances(() => "Shown in the list only");
  const chain = withRedisMemory(new ScriptedModel(() => "the answer"), { memory: memories[0] });
  const shown: string[] = [];
  for await (const { event, data } of chain.streamEvents("q", { version: "v2", configurable: { sessionId: "s" } })) {
    shown.push(`${event} ${JSON.stringify(data)}`);
  }
  await memories[0].drain();
  expect(shown.join("\n")).not.toContain("Shown in the list");
  expect(await memories[0].sessions.get("s")).toMatchObject({ title: "Shown in the list only" });
});
