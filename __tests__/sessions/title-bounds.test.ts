import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";
import { ScriptedModel } from "../support/scripted-model.js";

interface TitleConfig {
  readonly signal?: AbortSignal;
  readonly tags?: readonly string[];
  readonly callbacks?: unknown;
}

afterEach(() => void jest.useRealTimers());

/** Memories of one store, and the calls of the model that titles their sessions. */
function open(reply: (call: number) => string | Promise<string>) {
  const store = new InMemorySessionStore();
  const calls: { readonly shown: string; readonly config: TitleConfig }[] = [];
  const events: MemoryEvent[] = [];
  const invoke = async (messages: BaseMessage[], config: TitleConfig) => {
    calls.push({ shown: messages.at(-1)!.text, config });
    return reply(calls.length);
  };
  const memoryOf = () =>
    new RedisChatMemory({
      store,
      titles: { model: { invoke } },
      onEvent: (event: MemoryEvent) => events.push(event),
    } as never);
  const titleOf = async () => (await memoryOf().sessions.get("s"))?.title;
  const failures = () => events.filter(({ type }) => type === "title_failed");
  return { store, calls, memoryOf, titleOf, failures };
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
