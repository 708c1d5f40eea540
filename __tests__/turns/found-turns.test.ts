import { decodeRecord } from "../../src/store/codec/decode-record.js";
import { turnNameOf } from "../../src/store/codec/encode-message.js";
import { InMemorySessionStore } from "../../src/store/in-memory/in-memory-session-store.js";
import type { MemoryContext } from "../../src/memory/session/memory-context.js";
import { comparableForms, StoredForms } from "../../src/memory/session/stored-forms.js";
import { answerStart, messagesOfTurn, replacedTail, wholeTurn } from "../../src/memory/session/turn-messages.js";
import { record } from "../../testing/session-store/store-case.js";
import { ai, human, system } from "../support/messages.js";

/** A record of a turn. */
const stored = (id: string, turnId: string) => {
  const type = id.startsWith("q") ? "human" : "ai";
  const meta = { v: 1, turn: turnNameOf(turnId) };
  return JSON.stringify({ type, data: { content: id, id }, meta });
};

describe("a turn whose records stand apart", () => {
  const log = [stored("q0", "t0"), stored("q1", "t1"), stored("q2", "t2"), stored("a1", "t1"), stored("a2", "t2")];
  const find = async (first: number, count: number, records = log.slice(first, first + count)) => {
    const store = new InMemorySessionStore();
    const texts = log.map((text, index) => ({ ...record(`m${index}`), record: text }));
    await store.append({ id: "s" }, { records: texts });
    const context = { store } as unknown as MemoryContext;
    return wholeTurn({ ref: { id: "s" }, context }, { done: false, first, count, records }, "t1");
  };

  it("is read with all its records and no others, each with its position", async () => {
    const turn = await find(1, 2);
    expect(turn.records).toEqual([log[1], log[3]]);
    const found = messagesOfTurn(turn, "t1").map(({ message, position }) => [message.id, position]);
    expect(found).toEqual([
      ["q1", 1],
      ["a1", 3],
    ]);
  });

  it("has its own messages only, whatever the store returned", () => {
    const turn = { done: true, first: 1, count: 3, records: log.slice(1, 4) };
    expect(messagesOfTurn(turn, "t1").map(({ message }) => message.id)).toEqual(["q1", "a1"]);
  });

  it("is read again where the store did not return as many records as it has", async () => {
    expect((await find(1, 2, [log[1]!])).records).toEqual([log[1], log[3]]);
  });
});

describe("the cut in front of a turn's answer", () => {
  const read = { epoch: "e", rev: "r", next: 4 };
  const own = (positions: Readonly<Record<string, number>>) =>
    Object.entries(positions).map(([id, position]) => {
      const text = stored(id, "t1");
      return { record: text, message: decodeRecord(text).message, position };
    });

  it("removes the answer where it is the end of the log, and leaves the turn's beginning", () => {
    expect(replacedTail({ own: own({ q1: 1, a1: 2, a2: 3 }), read, turnId: "t1" })).toEqual({
      ...{ ...read, to: 2, lastId: "a2", forget: ["a1", "a2"] },
      turns: [{ name: turnNameOf("t1"), removed: 2 }],
    });
    expect(replacedTail({ own: own({ q1: 2, a1: 3 }), read, turnId: undefined })).toMatchObject({ turns: [], to: 3 });
  });

  it.each([
    ["between it", { q1: 0, a1: 1, a2: 3 }],
    ["behind it", { q1: 1, a1: 2 }],
  ])("matches no session where others' records stand %s", (_, positions) => {
    expect(replacedTail({ own: own(positions), read, turnId: "t1" })).toMatchObject({ next: 0, to: 0 });
  });
});

it("an answer begins behind the questions and instructions of its turn", () => {
  const starts = [[ai("a")], [human("q"), ai("a")], [human("q"), system("s"), ai("a")], [human("q")]];
  const found = starts.map((messages) => answerStart(messages.map((message) => ({ message }))));
  expect(found).toEqual([0, 1, 2, 1]);
});

it("a message that beforeStore refuses is compared as it is", async () => {
  const forms = new StoredForms((message) => {
    if (message.text === "refused") {
      throw new Error("no");
    }
    return ai("changed", { id: "other" });
  });
  const refused = human("refused");
  expect(await comparableForms([refused], undefined)).toEqual([refused]);
  const [first, second] = await comparableForms([refused, ai("answer", { id: "a1" })], forms);
  expect(first).toBe(refused);
  expect([second!.text, second!.id]).toEqual(["changed", "a1"]);
});
