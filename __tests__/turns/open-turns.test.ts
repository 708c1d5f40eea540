import { wholeLog } from "../../src/store/contract/session-data.js";
import type { BaseMessage } from "@langchain/core/messages";
import { RedisChatMessageHistory, sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { writeTurn } from "../../src/memory/session/append-input.js";
import { canOpenByWriting, openByWriting, openTurn, type OpenTurn } from "../../src/memory/turns/open-turn.js";
import { ai, human, system, tool } from "../support/messages.js";

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** Notes what is read; records of the log at `unreadable` cannot be decoded. */
class NotingStore extends InMemorySessionStore {
  views = 0;
  readonly logs: unknown[] = [];
  unreadable = -1;
  damaged = false;

  override async readView(...given: Parameters<InMemorySessionStore["readView"]>) {
    this.views += 1;
    const view = await super.readView(...given);
    return this.damaged ? { ...view, damaged: true } : view;
  }

  constructor() {
    super();
    const readPage = this.data.readPage.bind(this.data);
    jest.spyOn(this.data, "readPage").mockImplementation(async (session, request) => {
      this.logs.push({ from: request.after! + 1, ...(request.limit < wholeLog && { limit: request.limit }) });
      const page = (await readPage(session, request))!;
      return {
        ...page,
        records: page.records.map((record, at) => (page.from + at === this.unreadable ? "?" : record)),
      };
    });
  }
}

interface Scene {
  /** Messages that the view is reduced to, with a copy of the question before them. */
  readonly keeps?: number;
  readonly retention?: "keep" | "discard";
}

function sceneOf({ keeps, retention = "keep" }: Scene = {}) {
  const store = new NotingStore();
  const reducer = keeps === undefined ? {} : { reducer: new ChatHistoryTruncationReducer({ targetCount: keeps }) };
  const history = new RedisChatMessageHistory({ ...{ sessionId: "s", store, retention }, ...reducer });
  const session = sessionOf("test", history);
  const open = (input: readonly BaseMessage[], turnId?: string) => {
    Object.assign(store, { views: 0, logs: [] });
    return openTurn({ session, turnId, input });
  };
  return { store, history, session, open };
}

const shown = ({ state, history, stored, turn, newMessages }: OpenTurn) => ({
  ...{ state, history: texts(history), stored: texts(stored.map(({ message }) => message)) },
  ...{ turn: texts(turn), newMessages: texts(newMessages) },
});

const round = (name: string) => [human(`q${name}`, `q${name}`), ai(`a${name}`, { id: `a${name}` })];
const plain = (messages: readonly BaseMessage[]) =>
  messages.map((message) => (message.getType() === "human" ? human(message.text) : ai(message.text)));
const step = [ai("", { calls: ["c"], id: "call" }), Object.assign(tool("c", "found"), { id: "result" })];

describe("a turn that is stored", () => {
  it("begins with all messages that its user sent at once", async () => {
    const { history, open } = sceneOf();
    const input = [...round("1"), human("first", "f"), human("second", "s"), human("third", "t")];
    await history.append([...input, ai("answer")]);
    expect(shown(await open(input))).toEqual({
      ...{ state: "stored", history: ["q1", "a1"], stored: ["first", "second", "third", "answer"] },
      ...{ turn: ["first", "second", "third"], newMessages: [] },
    });
  });

  it("does not begin with what another user said before it", async () => {
    const { history, open } = sceneOf();
    await history.append([human("another", "o")]);
    await history.append([human("question", "q")]);
    expect(shown(await open([human("question", "q")]))).toMatchObject({
      ...{ state: "open", history: ["another"], stored: ["question"] },
    });
  });

  it.each([
    ["the answer to a question without a name", undefined, ["q1", "answer"]],
    ["no answer of another turn", "one", ["q1"]],
  ])("has %s", async (_, turnId, stored) => {
    const { history, open } = sceneOf();
    await history.append([human("q1", "q1")], turnId === undefined ? {} : { turnId });
    await history.append([ai("answer")], { turnId: "two" });
    expect(shown(await open([human("q1", "q1")])).stored).toEqual(stored);
  });

  it("does not begin with a question of another turn, nor end with an instruction", async () => {
    const { history, open } = sceneOf();
    const [another, question] = [human("another", "o"), human("question", "q")];
    await history.append([another], { turnId: "one" });
    await history.append([question, system("Be brief.")], { turnId: "two" });
    expect(shown(await open([another, question]))).toMatchObject({ stored: ["question"], history: ["another"] });
  });

  it("takes the results that its client brings", async () => {
    const { history, open } = sceneOf();
    await writeTurn(history, [human("q"), step[0]!], { turnId: "t", turn: { done: false } });
    expect(shown(await open([tool("c", "found")], "t"))).toMatchObject({
      ...{ state: "open", turn: ["q", "", "found"], newMessages: ["found"] },
    });
  });

  it("that begins with a greeting is asked its question behind that", async () => {
    const { history, open } = sceneOf();
    await writeTurn(history, [ai("Hello")], { turnId: "t", turn: { done: false } });
    const opened = await open([human("question")], "t");
    expect(shown(opened)).toMatchObject({ state: "open", turn: ["Hello", "question"], newMessages: ["question"] });
    expect(opened.isQuestionGone).toBe(false);
  });
});

describe("a turn of which a part was discarded", () => {
  /** The turn is in the log from its message `from` on. */
  async function cutAt(from: number, turn: readonly BaseMessage[]) {
    const scene = sceneOf();
    const reducer = (messages: BaseMessage[]) => messages.slice(from);
    const { store } = scene;
    const history = new RedisChatMessageHistory({
      ...{ sessionId: "s", store, retention: "discard", reduceWhen: "never", reducer },
    });
    await writeTurn(history, turn, { turnId: "t", turn: { done: false } });
    await history.reduceView();
    return scene;
  }

  it("has a question as long as one message of it is left", async () => {
    const input = [human("first", "f"), human("second", "s")];
    const { open, store } = await cutAt(1, [...input, ...step]);
    const opened = await open(input, "t");
    expect(shown(opened)).toMatchObject({ state: "open", turn: ["second", "", "found"], newMessages: [] });
    expect([opened.isQuestionGone, store.views]).toEqual([false, 1]);
  });
});

describe("a session of which the server lost a part", () => {
  it("refuses a turn only where all of that is lost", async () => {
    const { history, open, store } = sceneOf();
    await history.append(round("1"), { turnId: "t" });
    store.damaged = true;
    expect(shown(await open([human("q2", "q2")])).newMessages).toEqual(["q2"]);
    expect(shown(await open([human("q2", "q2")], "new")).newMessages).toEqual(["q2"]);
    expect(shown(await open(round("1").slice(0, 1), "t")).stored).toEqual(["q1", "a1"]);
  });
});

describe("an input without a stored question", () => {
  it("repeats nothing where only an answer is known", async () => {
    const { history, open } = sceneOf();
    await history.append(round("1"));
    const expected = { state: "new", history: ["q1", "a1"], stored: [], newMessages: [] };
    expect(shown(await open(round("1").slice(1)))).toMatchObject(expected);
    const unknown = await open(plain(round("1")).slice(1));
    expect(shown(unknown)).toMatchObject({ ...expected, newMessages: ["a1"] });
  });

  it("brings a new instruction that stands before a known history", async () => {
    const { history, open } = sceneOf();
    await history.append([system("Be brief."), ...round("1")]);
    const known = plain(round("1"));
    expect(shown(await open([system("Be kind."), ...known, human("q2")])).newMessages).toEqual(["Be kind.", "q2"]);
    expect(shown(await open([system("Be brief."), ...known, human("q2")])).newMessages).toEqual(["q2"]);
  });

  it("is new where another user has said the same meanwhile", async () => {
    const { history, open } = sceneOf();
    await history.append([...round("1"), human("yes", "theirs"), ai("fine", { id: "fine" })]);
    expect(shown(await open([...round("1"), human("yes", "mine")]))).toMatchObject({
      ...{ state: "new", history: ["q1", "a1", "yes", "fine"], newMessages: ["yes"], turn: ["yes"] },
    });
  });

  it("may say what an instruction says", async () => {
    const { history, open } = sceneOf();
    await history.append([system("Be brief."), ...round("1")]);
    const { newMessages } = await open([system("Be brief."), human("Be brief.")]);
    expect(newMessages.map((message) => message.getType())).toEqual(["human"]);
  });
});

describe("a question under a stored id that says something else", () => {
  it("is a conflict also where an earlier message says what is stored", async () => {
    const { history, open } = sceneOf();
    await history.append([...round("1"), human("yes", "q2")]);
    const input = [human("yes", "q0"), ...round("1"), human("no", "q2")];
    await expect(open(input)).rejects.toMatchObject({ code: "content", messageId: "q2" });
    const answered = [human("q0", "q1"), ai("a1", { id: "a1" })];
    await expect(open(answered)).rejects.toMatchObject({ code: "content", messageId: "q1" });
  });
});

describe("a client without ids whose history was discarded", () => {
  const left = (keeps: number) => (messages: BaseMessage[]) => messages.slice(messages.length - keeps);

  it.each([
    ["sends its last question again", 2, "q2", []],
    ["asks the next one where nothing is left", 0, "q3", ["q3"]],
    ["asks the next one", 2, "q3", ["q3"]],
  ])("%s", async (_, keeps, question, fresh) => {
    const { store, open } = sceneOf();
    const reducer = left(keeps);
    const history = new RedisChatMessageHistory({ ...{ sessionId: "s", store, retention: "discard", reducer } });
    await history.append(plain([...round("1"), ...round("2")]));
    const held = question === "q2" ? round("1") : [...round("1"), ...round("2")];
    expect(shown(await open([...plain(held), human(question)])).newMessages).toEqual(fresh);
  });
});

describe("what is read to open a turn", () => {
  it.each([
    ["an answer", 3, "t", ["q1"]],
    ["a question", 2, undefined, []],
  ])("is read again a few times where %s cannot be decoded, and then done without", async (_, at, turnId, stored) => {
    const { history, open, store } = sceneOf({ keeps: 2 });
    await history.append(round("0"));
    await history.append(round("1"), { turnId: "t" });
    await history.append([...round("2"), ...round("3")]);
    store.unreadable = at;
    expect(shown(await open(round("1").slice(0, 1), turnId))).toMatchObject({ stored });
    expect(store.views).toBeGreaterThan(1);
  });
});

describe("a turn that is opened by writing its question", () => {
  it("is one user message", () => {
    const inputs = [[human("q")], [system("s")], [ai("a")], [human("q"), human("q")], []];
    expect(inputs.map(canOpenByWriting)).toEqual([true, false, false, false, false]);
  });

  it.each([
    ["with a name", "t", { done: false, count: 1, first: 3 }],
    ["without a name", undefined, undefined],
  ])("stands behind the whole view, its head too (%s)", async (_, turnId, mark) => {
    const { history, session } = sceneOf({ keeps: 1 });
    await history.append([human("q1", "q1"), ai("I look."), ai("a1", { id: "a1" })]);
    const opened = await openByWriting({ history, session, turnId, input: [human("q2", "q2")] });
    expect(shown(opened)).toEqual({
      ...{ state: "new", history: ["q1", "a1"], stored: [], turn: ["q2"], newMessages: [] },
    });
    expect([opened.view.stored.turn, opened.isQuestionGone]).toEqual([mark, false]);
  });
});
