import type { BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { identifyRecord } from "../../src/store/codec/stored-record.js";
import { asRead } from "../../testing/session-store/store-case.js";
import { ai, human, tool } from "../support/messages.js";
import { characters, idsOf, turn } from "../support/numbered-turns.js";

let store: InMemorySessionStore;
let events: MemoryEvent[];
beforeEach(() => {
  store = new InMemorySessionStore();
  events = [];
});
const historyWith = (settings: MemorySettings = {}) =>
  new RedisChatMemory({ store, onEvent: (event) => events.push(event), ...settings }).history("s");
/** Stores a record as it is. */
async function written(record: string): Promise<void> {
  const { id, digest } = identifyRecord(record) ?? { id: record, digest: "xxxxxxxx" };
  await store.append({ id: "s" }, { records: [{ id, digest, record }] });
}

describe("the statistics of a session", () => {
  it("are zeros where it does not exist", async () => {
    expect(await historyWith().stats()).toStrictEqual({ messages: 0, rounds: 0, view: { messages: 0 }, reductions: 0 });
  });

  it("have its tokens and times, the tokens of all messages while the model sees them all", async () => {
    const reducer = (messages: BaseMessage[]) => messages.slice(-1);
    const history = historyWith({ tokenCounter: characters, sessionTTL: 60, reducer, reduceWhen: "never" });
    await history.addMessages(turn(1));
    const times = { createdAt: expect.any(Number), updatedAt: expect.any(Number), expiresAt: expect.any(Number) };
    const numbers = { messages: 2, rounds: 1, ...times };
    const whole = { ...numbers, tokens: 4, view: { messages: 2, tokens: 4 }, reductions: 0 };
    expect(await history.stats()).toStrictEqual(whole);
    await history.reduceView();
    expect(await history.stats()).toStrictEqual({ ...numbers, view: { messages: 1, tokens: 2 }, reductions: 1 });
  });

  it("have no tokens and no expiry where there are none", async () => {
    const history = historyWith();
    await history.addMessages(turn(1));
    const stats = await history.stats();
    expect(events).toEqual([]);
    expect(Object.keys(stats).sort()).toEqual(["createdAt", "messages", "reductions", "rounds", "updatedAt", "view"]);
  });
});

describe("a page of a session", () => {
  it("shows what is in the view, also as a copy, and counts what is stored", async () => {
    const reducer = ([first, ...rest]: BaseMessage[]) => [human("short", first!.id), ...rest.slice(-1)];
    const history = historyWith({ reducer, reduceWhen: "never" });
    await history.addMessages([...turn(1), ...turn(2)]);
    await history.reduceView();
    const inView = (await history.getPage()).items.map((item) => [item.message.id, item.inView]);
    expect(inView).toEqual([
      ["q1", true],
      ["a1", false],
      ["q2", false],
      ["a2", true],
    ]);
    const discarding = historyWith({ reducer: (messages) => messages.slice(-1), retention: "discard" });
    await discarding.reduceView();
    expect(await history.getPage()).toMatchObject({ total: 1, previous: null, next: null });
  });

  it("has no time of a message whose record has none", async () => {
    await written('{"type":"human","data":{"content":"hi","id":"q1"}}');
    const [item] = (await historyWith().getPage()).items;
    expect(item).toStrictEqual({ position: 0, message: human("hi", "q1"), inView: true });
  });
});

describe("a record that cannot be read", () => {
  const skipped = { type: "record_skipped", sessionId: "s", position: 2, error: expect.any(Error) };
  const reads: readonly [string, (history: ReturnType<typeof historyWith>) => Promise<BaseMessage[]>][] = [
    ["getMessages", (history) => history.getMessages()],
    ["getTranscript", (history) => history.getTranscript()],
    ["getPage", async (history) => (await history.getPage()).items.map(({ message }) => message)],
    ["reduceView", async (history) => (await history.reduceView()).messages],
  ];

  it.each(reads)("is left out by %s and reported, or an error where it shall be", async (_, read) => {
    const history = historyWith({ reducer: () => null, reduceWhen: "never" });
    await history.addMessages(turn(1));
    await written("no record");
    await history.addMessages(turn(2));
    expect(idsOf(await read(history))).toEqual(["q1", "a1", "q2", "a2"]);
    expect(events).toEqual([skipped]);
    const strict = historyWith({ reducer: () => null, reduceWhen: "never", onDamage: { record: "error" } });
    await expect(read(strict)).rejects.toMatchObject({ name: "RecordError", position: 2 });
  });

  it("does not keep an edit from replacing it", async () => {
    const history = historyWith();
    await history.addMessages(turn(1));
    await written("no record");
    await history.replaceFrom("a1", [ai("other", { id: "a9" })]);
    expect(idsOf(await history.getTranscript())).toEqual(["q1", "a9"]);
  });
});

describe("a head that cannot be read", () => {
  it("is left out in part where only one of its records cannot", async () => {
    const history = historyWith();
    await history.addMessages(turn(1));
    const head = '[{"type":"unknown","data":{}},{"type":"system","data":{"content":"Be brief.","id":"rules"}}]';
    const view = await store.readView({ id: "s" });
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 1, head, headCount: 2 });
    expect(idsOf(await history.getMessages())).toEqual(["rules", "a1"]);
    expect(events).toEqual([{ type: "record_skipped", sessionId: "s", position: undefined, error: expect.any(Error) }]);
  });

  it.each(["no head", '{"type":"human"}'])(
    "is left out and reported once, and dropped by rebuild: %s",
    async (head) => {
      const history = historyWith();
      await history.addMessages(turn(1));
      await store.commitReduction(
        { id: "s" },
        { ...asRead(await store.readView({ id: "s" })), start: 1, head, headCount: 1 },
      );
      expect(idsOf(await history.getMessages())).toEqual(["a1"]);
      expect(events).toEqual([
        { type: "record_skipped", sessionId: "s", position: undefined, error: expect.any(Error) },
      ]);
      events.length = 0;
      await history.rebuild();
      expect(idsOf(await history.getMessages())).toEqual(["q1", "a1"]);
      expect(events).toEqual([]);
    },
  );

  it("is counted anew by rebuild where its number is wrong, and else left as it is", async () => {
    const history = historyWith();
    await history.addMessages(turn(1));
    const head = '[{"type":"system","data":{"content":"Be brief.","id":"rules"}}]';
    const view = await store.readView({ id: "s" });
    await store.commitReduction({ id: "s" }, { ...asRead(view), start: 1, head, headCount: 7 });
    await history.rebuild();
    expect(await store.readView({ id: "s" })).toMatchObject({ start: 1, head, headCount: 1 });
    expect((await history.getReductions()).length).toBe(2);
    await history.rebuild();
    expect((await history.getReductions()).length).toBe(2);
  });
});

describe("a session that is damaged", () => {
  it.each<[string, string, (history: ReturnType<typeof historyWith>) => Promise<unknown>]>([
    ["readView", "getMessages", (history) => history.getMessages()],
    ["readView", "reduceView", (history) => history.reduceView()],
    ["getPage", "getPage", (history) => history.getPage()],
    ["stats", "stats", (history) => history.stats()],
  ])("is reported as damaged for %s by %s", async (operation, _, read) => {
    const history = historyWith({ reducer: () => null, reduceWhen: "never" });
    await history.addMessages(turn(1));
    for (const [reader, name] of [
      [store, "readView"],
      [store.data, "readPage"],
      [store.data, "readStats"],
    ] as const) {
      const whole = (reader as never as Record<string, (...call: unknown[]) => Promise<object>>)[name]!.bind(reader);
      Object.assign(reader, { [name]: async (...call: unknown[]) => ({ ...(await whole(...call)), damaged: true }) });
    }
    await read(history);
    expect(events).toEqual([{ type: "damaged", sessionId: "s", operation }]);
  });
});

describe("the view of a session", () => {
  const both = async (history: ReturnType<typeof historyWith>) => [
    idsOf(await history.getMessages()),
    idsOf((await history.reduceView()).messages),
  ];

  it("has each answer with its question, also with one in the head", async () => {
    const changed = (messages: BaseMessage[]) => messages.map(({ id }) => human("changed", id));
    const history = historyWith({ reducer: changed, reduceWhen: "never" });
    await history.addMessages([human("one", "q1")]);
    await history.addMessages([human("two", "q2")]);
    await history.reduceView();
    await history.append([ai("1", { id: "a1" })], { turnId: "q1" });
    const reading = historyWith({ reducer: () => null, reduceWhen: "never" });
    expect(await both(reading)).toEqual([
      ["q1", "a1", "q2"],
      ["q1", "a1", "q2"],
    ]);
  });

  it("has all questions of a turn together", async () => {
    for (const [id, name] of [
      ["q1", "the-first-turn"],
      ["q2", "the-other-turn"],
      ["q3", "the-first-turn"],
    ] as const) {
      await written(`{"type":"human","data":{"content":"${id}","id":"${id}"},"meta":{"v":1,"turn":"${name}"}}`);
    }
    const history = historyWith({ reducer: () => null, reduceWhen: "never" });
    expect(await both(history)).toEqual([
      ["q1", "q3", "q2"],
      ["q1", "q3", "q2"],
    ]);
  });

  it("leaves out a result whose call it does not have", async () => {
    const history = historyWith({ reducer: () => null, reduceWhen: "never" });
    const result = tool("lost");
    result.id = "r1";
    await history.addMessages([...turn(1), result]);
    expect(await both(history)).toEqual([
      ["q1", "a1"],
      ["q1", "a1"],
    ]);
    const hidden = { type: "tool_result_hidden", sessionId: "s", messageId: "r1", toolCallId: "lost" };
    expect(events).toEqual([hidden, hidden]);
  });
});
