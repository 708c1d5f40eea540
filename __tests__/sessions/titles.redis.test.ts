import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { events, newMemory } from "../support/memories.js";
import { ai, aiCalls, human, tool } from "../support/messages.js";
import { ScriptedModel, type Script } from "../support/scripted-model.js";
import { uniquePrefix } from "../support/shared-redis.js";
import { testKeys } from "../support/test-keys.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";

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

afterEach(() => void jest.useRealTimers());

/** Memories of one store, and the calls of the model that titles their sessions. */
function open(reply: (call: number) => string | Promise<string>) {
  const store = new InMemorySessionStore();
  const calls: { readonly prompt: string; readonly shown: string }[] = [];
  const told: MemoryEvent[] = [];
  const invoke = async (messages: BaseMessage[]) => {
    calls.push({ prompt: messages[0]!.text, shown: messages.at(-1)!.text });
    return reply(calls.length);
  };
  const memoryOf = (titles: object = {}) =>
    new RedisChatMemory({
      store,
      titles: { model: { invoke }, ...titles },
      onEvent: (event: MemoryEvent) => told.push(event),
    } as never);
  const titleOf = async () => (await memoryOf().sessions.get("s"))?.title;
  const failures = () => told.filter(({ type }) => type === "title_failed");
  return { store, calls, told, memoryOf, titleOf, failures };
}

/** A reply that is given by hand, and when it is asked for. */
function late() {
  let [ask, answer]: ((value: string) => void)[] = [];
  const [asked, reply] = [
    new Promise((resolve) => (ask = resolve)),
    new Promise<string>((resolve) => (answer = resolve)),
  ];
  return { asked, answer: answer!, give: () => (ask!(""), reply) };
}

describe("the title of a session", () => {
  it.each([
    ["**Trip to Oslo**", "Trip to Oslo"],
    ['\n\n# "“Trip  to \t Oslo”" *\nand more', "Trip to Oslo"],
    ["Trip \ud800to Oslo", "Trip \ufffdto Oslo"],
    ["x".repeat(200), "x".repeat(100)],
    ["<think>\nA title about Oslo.\n</think>\n\nTrip to Oslo", "Trip to Oslo"],
    ["A title about Oslo.\n</think>\nTrip to Oslo", "Trip to Oslo"],
    ["```\nTrip to Oslo\n```", "Trip to Oslo"],
    ["`Trip to Oslo`", "Trip to Oslo"],
    ['{"title": "Trip to Oslo"}', "Trip to Oslo"],
    ['```json\n{\n  "icon": "x",\n  "title": "Trip to Oslo"\n}\n```', "Trip to Oslo"],
    ['["Trip to Oslo", "Oslo"]', "Trip to Oslo"],
    ["[Draft] Trip to {Oslo}", "[Draft] Trip to {Oslo}"],
    ["1984", "1984"],
  ])("is the first line of the reply without what stands around it: %j", async (reply, title) => {
    const { memoryOf, titleOf } = open(() => reply);
    const memory = memoryOf();
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await memory.drain();
    expect(await titleOf()).toBe(title);
  });

  it.each(["<think>\nThe user wants", '{"title": "Trip to Os', '```json\n{"title": 1}\n```', "```"])(
    "is not made of a reply without one: %j",
    async (reply) => {
      const { memoryOf, titleOf, failures } = open(() => reply);
      const memory = memoryOf();
      await memory.history("s").addMessages([human("q"), ai("a")]);
      await memory.drain();
      expect([await titleOf(), failures().length]).toEqual([undefined, 1]);
    },
  );

  it("is not made of a reply that ended early", async () => {
    const reply = new AIMessage({ content: "Trip to Os", response_metadata: { finish_reason: "length" } });
    const events: MemoryEvent[] = [];
    const titles = { model: new ScriptedModel(() => reply) };
    const onEvent = (event: MemoryEvent) => void events.push(event);
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), titles, onEvent });
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await memory.drain();
    expect((await memory.sessions.get("s"))?.title).toBeUndefined();
    expect(events.filter(({ type }) => type === "title_failed")).toHaveLength(1);
  });

  it("waits for an answer that says something and calls no tool", async () => {
    const { calls, memoryOf, titleOf } = open(() => "Oslo");
    const memory = memoryOf();
    for (const message of [ai("I look it up", { calls: ["c"] }), ai(" \n")]) {
      await memory.history("s").addMessages([human("q"), message]);
      await memory.drain();
    }
    expect(calls).toEqual([]);
    await memory.history("s").addMessages([ai("a")]);
    await memory.drain();
    expect(await titleOf()).toBe("Oslo");
  });

  it("is made of the records that can be read", async () => {
    const { store, calls, memoryOf, titleOf } = open(() => "Oslo");
    await store.append({ id: "s" }, { records: [{ id: "m", digest: "AAAAAAAA", record: "{" }] });
    const memory = memoryOf();
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await memory.drain();
    expect(calls[0]!.shown).toBe("<messages>\nuser: q\n\nassistant: a\n</messages>");
    expect(await titleOf()).toBe("Oslo");
  });

  it("is asked for with a prompt of one's own in place of the default", async () => {
    const { calls, memoryOf } = open(() => "Voyage");
    const memory = memoryOf({ prompt: "One word." });
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await memory.drain();
    expect(calls[0]!.prompt).toBe("One word.");
  });

  it("is made of the first twenty messages", async () => {
    const { calls, memoryOf } = open(() => "Oslo");
    const memory = memoryOf();
    const answers = Array.from({ length: 20 }, (_, index) => ai(`[${index + 1}]`));
    await memory.history("s").addMessages([human("[0]"), ...answers]);
    await memory.drain();
    expect(["[0]", "[19]", "[20]"].map((text) => calls[0]!.shown.includes(text))).toEqual([true, true, false]);
  });

  it("is that of another process where one fails meanwhile", async () => {
    const { asked, answer, give } = late();
    const { memoryOf, titleOf, failures } = open((call) => (call === 1 ? give() : "Second"));
    const [first, second] = [memoryOf(), memoryOf()];
    await first.history("s").addMessages([human("q"), ai("a")]);
    await asked;
    await second.history("s").addMessages([ai("b")]);
    await second.drain();
    answer("");
    await first.drain();
    expect(failures()).toHaveLength(1);
    expect(await titleOf()).toBe("Second");
  });

  it("is the user's where they give one while the model thinks", async () => {
    const { asked, answer, give } = late();
    const { told, memoryOf, titleOf } = open(give);
    const memory = memoryOf();
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await asked;
    await memory.sessions.update("s", { title: "Mine" });
    answer("The model's");
    await memory.drain();
    expect([await titleOf(), told.filter(({ type }) => type.startsWith("title"))]).toEqual(["Mine", []]);
  });

  it("is given up after 30 seconds, and its model is told to stop", async () => {
    jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
    let signal: AbortSignal | undefined;
    const { memoryOf, titleOf, failures } = open(() => "Oslo");
    const invoke = (_: BaseMessage[], config: { signal: AbortSignal }) => {
      signal = config.signal;
      return new Promise<never>(() => undefined);
    };
    const memory = memoryOf({ model: { invoke } });
    await memory.history("s").addMessages([human("q"), ai("a")]);
    await jest.advanceTimersByTimeAsync(29_000);
    expect([signal?.aborted, failures().length]).toEqual([false, 0]);
    await jest.advanceTimersByTimeAsync(2_000);
    await memory.drain();
    expect([signal?.aborted, failures().length, await titleOf()]).toEqual([true, 1, undefined]);
  });

  it("is given again where the session was cleared", async () => {
    const { memoryOf, titleOf } = open((call) => `Title ${call}`);
    const memory = memoryOf();
    for (const title of ["Title 1", "Title 2"]) {
      await memory.history("s").clear();
      await memory.history("s").addMessages([human("q"), ai("a")]);
      await memory.drain();
      expect(await titleOf()).toBe(title);
    }
  });

  it.each(["ann", "bob"])(
    "is not that of a conversation which was cleared while the model thought (%s)",
    async (owner) => {
      jest.useFakeTimers({ doNotFake: ["nextTick", "queueMicrotask", "setImmediate"] });
      const { asked, answer, give } = late();
      const { memoryOf, titleOf } = open(give);
      const memory = memoryOf();
      await memory.history("s", { owner: "ann" }).addMessages([human("q"), ai("a")]);
      await asked;
      await memory.history("s", { owner: "ann" }).clear();
      await jest.advanceTimersByTimeAsync(10);
      await memory.history("s", { owner }).addMessages([human("something else")]);
      answer("What was cleared");
      await memory.drain();
      expect(await titleOf()).toBeUndefined();
    },
  );
});
