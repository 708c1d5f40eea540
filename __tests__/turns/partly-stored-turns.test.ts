import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { turnNameOf } from "../../src/store/codec/encode-message.js";
import { metaOf } from "../../src/store/codec/decode-record.js";
import { withRedisMemory } from "../../src/doors/chain/with-redis-memory.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { sessionOf } from "../../src/memory/histories/redis-chat-message-history.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import { ChatHistoryTruncationReducer } from "../../src/conversation/reducers/truncation-reducer.js";
import { writeTurn, type TurnSettings } from "../../src/memory/session/append-input.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { messagesOfTurn, replacedTail } from "../../src/memory/session/turn-messages.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { echoModel } from "../support/scripted-model.js";

const turnId = "job-1";
const half = (text = "half an") => new AIMessage({ content: text, response_metadata: { interrupted: true } });
const said = (messages: readonly BaseMessage[]) => messages.map(({ type, text }) => `${type}: ${text}`);

function open(store = new InMemorySessionStore(), settings: MemorySettings = {}) {
  const history = new RedisChatMemory({ ...settings, store }).history("s");
  const write = (messages: BaseMessage[], turn: TurnSettings) => writeTurn(history, messages, { turnId, turn });
  return { store, history, write, log: async () => said(await history.getTranscript()) };
}

describe("an append to a turn of which a part is stored", () => {
  it.each<[string, BaseMessage[], BaseMessage[], string[]]>([
    ["its question", [human("q")], [human("again"), ai("a")], ["human: q", "ai: a"]],
    ["two questions", [human("q"), human("and")], [human("q"), ai("a")], ["human: q", "human: and", "ai: a"]],
    [
      "a step",
      [human("q"), aiCalls("c"), tool("c")],
      [human("q"), aiCalls("d"), tool("d"), ai("a")],
      ["human: q", "ai: ", "tool: result of c", "ai: a"],
    ],
    [
      "a step that it does without",
      [human("q"), aiCalls("c"), tool("c")],
      [human("q"), ai("a")],
      ["human: q", "ai: ", "tool: result of c", "ai: a"],
    ],
    [
      "an answer that it does not give",
      [human("q"), ai("so far")],
      [human("q"), aiCalls("d"), tool("d"), ai("a")],
      ["human: q", "ai: so far", "ai: ", "tool: result of d", "ai: a"],
    ],
    ["more than it brings", [human("q"), ai("a")], [human("again")], ["human: q", "ai: a"]],
    [
      "another beginning",
      [system("rules"), human("q")],
      [human("q"), ai("a")],
      [...["system: rules", "human: q", "human: q", "ai: a"]],
    ],
  ])("adds what is not stored behind %s", async (_, stored, retry, log) => {
    const turn = open();
    await turn.write(stored, { done: false });
    const { appended, repeated } = await turn.history.append(retry, { turnId });
    expect([appended, repeated]).toEqual([log.length - stored.length, false]);
    expect(await turn.log()).toEqual(log);
    expect((await turn.history.append(retry, { turnId })).repeated).toBe(true);
  });

  it("finds the question that was stored before the turn, under its own id", async () => {
    const turn = open();
    await turn.history.append([human("q", "q")]);
    await turn.write([human("q", "q"), aiCalls("c"), tool("c")], { done: false });
    const retry = [system("rules"), human("q", "q"), aiCalls("d"), tool("d"), ai("a", { id: "a" })];
    expect((await turn.history.append(retry, { turnId })).appended).toBe(1);
    expect(await turn.log()).toEqual(["human: q", "ai: ", "tool: result of c", "ai: a"]);
  });

  it("adds only what is not stored where others wrote between the parts", async () => {
    const turn = open();
    await turn.write([human("q")], { done: false });
    await turn.history.append([human("other"), ai("said otherwise")]);
    await turn.write([aiCalls("c"), tool("c")], { stored: 1, done: false });
    await turn.history.append([human("q"), aiCalls("d"), tool("d"), ai("a")], { turnId });
    expect((await turn.log()).slice(3)).toEqual(["ai: ", "tool: result of c", "ai: a"]);
  });

  it("is done where a writer that knew less of the turn brings its last messages, and tells all of it", async () => {
    const turn = open();
    await turn.write([human("q")], { done: false });
    await turn.history.append([human("other"), ai("said otherwise")]);
    await turn.write([ai("one", { id: "1" })], { stored: 1, done: false });
    await turn.write([ai("two", { id: "2" })], { stored: 2, done: false });
    const known = await turn.write([ai("two", { id: "2" })], { stored: 1, done: false });
    expect([known.refused, known.turnCount]).toEqual([undefined, 3]);
    expect((await turn.write([ai("three")], { stored: 1, done: false })).refused).toBe("overtaken");
    await turn.write([ai("three")], { stored: 3 });
    const { storedTurn } = await turn.write([ai("four")], { stored: 3 });
    expect(storedTurn!.records.map((record) => metaOf(record).turn)).toEqual(Array(4).fill(turnNameOf(turnId)));
  });

  it("names its messages by their place in the turn", async () => {
    const turn = open();
    await turn.write([human("q")], { done: false });
    await turn.history.append([human("q"), ai("a"), ai("b")], { turnId });
    expect((await turn.history.getTranscript()).map(({ id }) => id)).toEqual(["job-1-0", "job-1-1", "job-1-2"]);
  });

  it("begins anew where its records were discarded", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 1 });
    const turn = open(new InMemorySessionStore(), { reducer, reduceWhen: "never", retention: "discard" });
    await turn.write([human("q", "q")], { done: false });
    await turn.history.append([human("q2"), ai("a2"), human("q3")]);
    await turn.history.reduceView();
    expect(await turn.log()).toEqual(["human: q3"]);
    await turn.history.append([human("q"), ai("a")], { turnId });
    expect(await turn.log()).toEqual(["human: q3", "human: q", "ai: a"]);
  });

  it("is refused as stale where others add to the turn at each of five tries", async () => {
    const turn = open();
    const append = turn.store.append.bind(turn.store);
    let tries = 0;
    jest.spyOn(turn.store, "append").mockImplementation(async (session, request) => {
      const part = { name: turnNameOf(turnId), stored: tries, done: false };
      tries += 1;
      const record = `{"type":"ai","data":{"content":"${tries}"}}`;
      await append(session, { records: [{ id: `${tries}`, digest: "AAAAAAAA", record }], turn: part });
      return append(session, request);
    });
    const refused = turn.history.append([human("q"), ai("a")], { turnId });
    await expect(refused).rejects.toMatchObject({ name: "ConflictError", code: "stale", sessionId: "s" });
    expect(tries).toBe(5);
  });
});

describe("an append to a turn that was stopped", () => {
  it("replaces all of the answer, also one with steps", async () => {
    const turn = open();
    await turn.write([human("q"), aiCalls("c"), tool("c"), half()], { done: false });
    expect(await turn.history.append([human("q"), ai("whole")], { turnId })).toMatchObject({ appended: 1 });
    expect(await turn.log()).toEqual(["human: q", "ai: whole"]);
  });

  it("replaces nothing where others wrote since", async () => {
    const events: MemoryEvent[] = [];
    const turn = open(new InMemorySessionStore(), { onEvent: (event) => void events.push(event) });
    await turn.write([human("q"), half()], { done: false });
    await turn.history.append([human("q2"), ai("a2")]);
    const late = turn.history.append([human("q"), ai("late")], { turnId });
    await expect(late).rejects.toMatchObject({ name: "ConflictError", code: "position", retryable: false });
    expect(events).toContainEqual({ type: "turn_not_stored", sessionId: "s", turnId, reason: "overtaken" });
    expect(await turn.log()).toEqual(["human: q", "ai: half an", "human: q2", "ai: a2"]);
  });

  it("is refused where it brings no answer", async () => {
    const turn = open();
    await turn.write([human("q"), half()], { done: false });
    const refused = turn.history.append([human("q")], { turnId });
    await expect(refused).rejects.toMatchObject({ name: "ConflictError", code: "position" });
    expect(await turn.log()).toEqual(["human: q", "ai: half an"]);
  });
});

it("the messages of a turn are its own only, whatever a store returns with them", async () => {
  const turn = open();
  await turn.write([human("q"), ai("a")], { done: true });
  await turn.history.append([human("other")]);
  const entries = await sessionOf("test", turn.history).readEntries({ from: 0 });
  const stored = { done: true, first: 0, count: 3, records: entries.map(({ record }) => record) };
  expect(said(messagesOfTurn(stored, turnId).map(({ message }) => message))).toEqual(["human: q", "ai: a"]);
});

describe("a question that comes again", () => {
  it("is known where it was stored without a turn, and a reduction took it out of the view", async () => {
    const reducer = new ChatHistoryTruncationReducer({ targetCount: 2 });
    const memory = new RedisChatMemory({ store: new InMemorySessionStore(), reducer, reduceWhen: "never" });
    const history = memory.history("s");
    const questions = ["1", "2", "3"].flatMap((id) => [human(`q${id}`, id), ai(`a${id}`, { id: `answer ${id}` })]);
    await history.addMessages(questions);
    await history.reduceView();
    const chain = withRedisMemory(echoModel(), { memory });
    await chain.invoke([human("q1", "1")], { configurable: { sessionId: "s" } });
    expect(said(await history.getTranscript())).toEqual(said(questions));
  });

  it("has its stopped answer replaced, also without a name or id of its own", async () => {
    const turn = open();
    await turn.history.addMessages([human("q"), half()]);
    const session = sessionOf("test", turn.history);
    const own = await session.readEntries({ from: 0 });
    const read = await turn.store.readView({ id: "s" });
    const cut = replacedTail({ own, read, turnId: undefined });
    expect(await writeTurn(turn.history, [ai("whole")], { turn: { cut } })).toMatchObject({ appended: 1 });
    expect(await turn.log()).toEqual(["human: q", "ai: whole"]);
  });
});
