import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { maxTries } from "../../src/base/bounds.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ai, human } from "../support/messages.js";
import { asRead } from "../../testing/session-store/store-case.js";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { join } from "node:path";
import { StoreError } from "../../src/base/errors.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { readTree } from "../support/source-tree.js";

const messages = () => [human("one", "m1"), human("two", "m2"), ai("three", { id: "m3" })];

/** A history whose store loses every compare-and-set to another process, and how often it was asked. */
async function racedHistory(settings: MemorySettings = {}) {
  const store = new InMemorySessionStore();
  const history = new RedisChatMemory({ store, ...settings }).history("a b");
  await history.addMessages(messages());
  let tries = 0;
  const losing =
    <Word>(word: Word) =>
    async () => {
      tries += 1;
      return word;
    };
  Object.assign(store, { commitReduction: losing("stale") });
  Object.assign(store.edits, { rewind: losing("stale"), replaceTail: losing("stale") });
  Object.assign(store.copies, { create: losing(undefined) });
  return { history, tries: () => tries };
}

it.each<[string, (history: RedisChatMessageHistory) => Promise<unknown>]>([
  ["rewind", (history) => history.rewind("m2")],
  ["fork", (history) => history.fork("b")],
  ["replaceFrom", (history) => history.replaceFrom("m2", [human("new", "m4")])],
])("%s of a session that changes during each try is refused, and says what to call again", async (method, call) => {
  const { history, tries } = await racedHistory();
  await expect(call(history)).rejects.toMatchObject({
    name: "ConflictError",
    code: "stale",
    sessionId: "a b",
    message: `Session a%20b kept changing during ${method}(); call it again.`,
  });
  expect(tries()).toBe(maxTries.edit);
});

it("reduceView of a session that changes during each try is refused, and says so", async () => {
  const { history, tries } = await racedHistory({ reducer: (given) => given.slice(-1), reduceWhen: "never" });
  await expect(history.reduceView()).rejects.toMatchObject({ name: "ConflictError", code: "stale", sessionId: "a b" });
  expect(tries()).toBe(maxTries.edit);
});

describe("a rewind that another process overtakes", () => {
  /** A history whose first rewind comes behind what another process did. */
  async function historyBehind(other: (store: InMemorySessionStore) => Promise<unknown>) {
    const store = new InMemorySessionStore();
    const history = new RedisChatMemory({ store }).history("s", { owner: "ann" });
    await history.addMessages(messages());
    const rewind = store.edits.rewind.bind(store.edits);
    store.edits.rewind = async (...call) => {
      store.edits.rewind = rewind;
      await other(store);
      return rewind(...call);
    };
    return history;
  }

  it.each(["m1", "m2"])("succeeds where another rewind to %s came first", async (id) => {
    const history = await historyBehind((store) => new RedisChatMemory({ store }).history("s").rewind(id));
    await history.rewind(id);
    expect(await history.getTranscript()).toHaveLength(id === "m1" ? 0 : 1);
  });

  it("removes what another process appended first", async () => {
    const history = await historyBehind((store) =>
      new RedisChatMemory({ store }).history("s").addMessages([human("four", "m4")]),
    );
    await history.rewind("m1");
    expect(await history.getTranscript()).toEqual([]);
  });

  it("is refused where it was discarded", async () => {
    const history = await historyBehind(async (store) => {
      const view = await store.readView({ id: "s" });
      const discard = true;
      await store.commitReduction({ id: "s" }, { ...asRead(view), start: 2, head: "", headCount: 0, discard });
    });
    await expect(history.rewind("m1")).rejects.toMatchObject({ code: "unknown_message", messageId: "m1" });
    expect(await history.getTranscript()).toHaveLength(1);
  });
});

const newHistory = () => new RedisChatMemory({ store: new InMemorySessionStore() }).history("s");
const turn = (index: number) => [human(`q${index}`, `q${index}`), ai(`a${index}`, { id: `a${index}` })];
const texts = async (history: ReturnType<typeof newHistory>) => (await history.getTranscript()).map(({ text }) => text);

describe("a replacement", () => {
  it("that is sent again with its turn's name is a repetition, also of messages without ids", async () => {
    const history = newHistory();
    await history.addMessages([...turn(1), ...turn(2)]);
    const edit = () => history.replaceFrom("q2", [new HumanMessage("other"), ai("answer")], { turnId: "t" });
    expect(await edit()).toMatchObject({ appended: 2, next: 4 });
    expect(await edit()).toEqual({ appended: 0, duplicates: 2, next: 4, repeated: false });
    expect(await texts(history)).toEqual(["q1", "a1", "other", "answer"]);
  });

  it.each([
    ["ends otherwise", ["q2", "a9"]],
    ["begins otherwise", ["q9", "a2"]],
    ["goes on behind them", ["q1", "a1"]],
    ["goes on by one behind them", ["q1", "a1", "q2"]],
  ])("of a message that there is not is refused where the log %s", async (_, ids) => {
    const history = newHistory();
    await history.addMessages([...turn(1), ...turn(2)]);
    const messages = ids.map((id) => (id.startsWith("q") ? human(id, id) : ai(id, { id })));
    await expect(history.replaceFrom("lost", messages)).rejects.toMatchObject({ code: "unknown_message" });
    expect(await texts(history)).toEqual(["q1", "a1", "q2", "a2"]);
  });

  it("of a part of a turn opens it again, so that a retry stores the rest", async () => {
    const history = newHistory();
    await history.append(turn(1), { turnId: "t1" });
    await history.replaceFrom("a1", [human("and", "q2")]);
    expect(await history.append([human("q1", "q1"), ai("late", { id: "a3" })], { turnId: "t1" })).toMatchObject({
      ...{ appended: 1, repeated: false },
    });
    expect(await texts(history)).toEqual(["q1", "and", "late"]);
  });

  it("is written where the log ends as the caller expects", async () => {
    const history = newHistory();
    await history.addMessages(turn(1));
    await history.replaceFrom("a1", [ai("other", { id: "a2" })], { expectedNext: 2 });
    await expect(history.append(turn(3), { expectedNext: 1 })).rejects.toMatchObject({ code: "position", next: 2 });
    expect(await texts(history)).toEqual(["q1", "other"]);
  });
});

describe("a rewind", () => {
  it("opens the turn that it cuts, and no other, also behind discarded messages", async () => {
    const store = new InMemorySessionStore();
    const reducer = (messages: BaseMessage[]) => messages.slice(-4);
    const history = new RedisChatMemory({ store, reducer, reduceWhen: "never", retention: "discard" }).history("s");
    for (const index of [1, 2, 3]) {
      await history.append(turn(index), { turnId: `t${index}` });
    }
    await history.reduceView();
    await history.rewind("a3");
    expect(await texts(history)).toEqual(["q2", "a2", "q3"]);
    expect(await history.append(turn(2), { turnId: "t2" })).toMatchObject({ repeated: true, appended: 0 });
    const retry = [human("q3", "q3"), ai("late", { id: "a9" })];
    expect(await history.append(retry, { turnId: "t3" })).toMatchObject({ repeated: false, appended: 1 });
    expect(await texts(history)).toEqual(["q2", "a2", "q3", "late"]);
  });
});

/** An id that would break a line of a log. */
const sessionId = `chat\n${"7".repeat(200)}`;
const shown = /session chat%0A7{73}…/;
const half = new AIMessage({ content: "half", response_metadata: { interrupted: true } });

function open() {
  const store = new InMemorySessionStore();
  return { store, history: new RedisChatMemory({ store }).history(sessionId) };
}

describe("An error that names a session", () => {
  it("shows its id encoded and truncated where a removal may have happened", async () => {
    const { store, history } = open();
    await history.append([human("q")]);
    jest
      .spyOn(store.edits, "rewind")
      .mockRejectedValue(
        new StoreError("No reply.", { code: "timeout", operation: "rewind", sessionId, retryable: true }),
      );
    await expect(history.removeLast()).rejects.toMatchObject({
      code: "timeout",
      message: expect.stringMatching(shown),
    });
  });

  it("shows its id encoded and truncated where others wrote behind an interrupted answer", async () => {
    const { history } = open();
    await writeTurn(history, [human("q"), half], { turnId: "t", turn: { done: false } });
    await history.append([human("of another tab")]);
    const refused = history.append([human("q"), ai("whole")], { turnId: "t" });
    await expect(refused).rejects.toMatchObject({ code: "position", message: expect.stringMatching(shown) });
  });

  it("takes its words from one place of src", () => {
    const own = readTree(join(__dirname, "..", "..", "src")).flatMap(({ path, text }) =>
      (text.match(/[Ss]ession "?\$\{(?!encoded|JSON)[^}]*\}(?=.*[;+]$)/gm) ?? []).map((words) => `${path}: ${words}`),
    );
    expect(own).toEqual([]);
  });
});
