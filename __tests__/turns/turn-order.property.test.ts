import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { encodeMessage, turnNameOf } from "../../src/store/codec/encode-message.js";
import { summaryMessage, summaryText } from "../../src/conversation/messages/summary-message.js";
import { inTurnOrder, roundsInTurnOrder, turnsWithoutQuestion } from "../../src/memory/session/view.js";
import { metaOf, turnIn } from "../../src/store/codec/decode-record.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { forAll } from "../support/property-runs.js";

interface Entry {
  readonly message: BaseMessage;
  readonly record: string;
  readonly turn: number;
}

interface Turn {
  readonly hasSystem: boolean;
  readonly calls: number;
  /** How the turn's name reached its records: all have it, only the answer (of the question's id), or none. */
  readonly names: "all" | "answer" | "none";
  readonly isAnswered: boolean;
}

const turns = fc.array(
  fc.record<Turn>({
    hasSystem: fc.boolean(),
    calls: fc.nat(2),
    names: fc.constantFrom("all", "answer", "none"),
    isAnswered: fc.boolean(),
  }),
  { maxLength: 6 },
);

const said = (entries: readonly Entry[]) =>
  entries.map(({ turn, message }) => `${turn} ${message.type} ${message.text}`);

/** The messages of a turn. One without names is stored in one write, so nothing can come between them. */
function entriesOf({ hasSystem, calls, names, isAnswered }: Turn, turn: number): Entry[] {
  const question = `q${turn}`;
  const steps = Array.from({ length: calls }, (_, index) => [aiCalls(`c${turn}-${index}`), tool(`c${turn}-${index}`)]);
  const input = [...(hasSystem && names === "all" ? [system("Be brief.")] : []), human(question, question)];
  const answer = isAnswered ? [...steps.flat(), ai(`a${turn}`)] : [];
  const name = turnNameOf(question);
  const entry = (message: BaseMessage, isNamed: boolean) => {
    const { record } = encodeMessage(message, { id: message.id ?? "generated", ...(isNamed && { turn: name }) });
    return { message, turn, record };
  };
  return [
    ...input.map((message) => entry(message, names === "all")),
    ...answer.map((message) => entry(message, names !== "none")),
  ];
}

/** The turns' messages as they may stand in a log: each turn's in order, the turns in the order of their questions. */
function interleaved(list: readonly Turn[], choose: (length: number) => number): Entry[] {
  const waiting = list.map(entriesOf);
  const log: Entry[] = [];
  let begun = 0;
  while (waiting.some((rest) => rest.length > 0)) {
    const begins = (index: number) => index === begun && waiting[index]!.length > 0;
    const open = waiting.flatMap((rest, index) => (rest.length > 0 && (index < begun || begins(index)) ? [index] : []));
    const chosen = open[choose(open.length)]!;
    const isWhole = list[chosen]!.names === "none" || (chosen === begun && list[chosen]!.hasSystem);
    const count = list[chosen]!.names === "none" ? waiting[chosen]!.length : isWhole ? 2 : 1;
    begun = Math.max(begun, chosen + 1);
    log.push(...waiting[chosen]!.splice(0, count));
  }
  return log;
}

describe("messages in the order of the conversation", () => {
  const scene = fc.tuple(turns, fc.infiniteStream(fc.nat(1_000)));

  it("stand with the question of their turn, and questions in the order in which they were stored", () =>
    forAll(300, scene, ([list, numbers]) => {
      const log = interleaved(list, (length) => numbers.next().value! % length);
      expect(said(inTurnOrder(log))).toEqual(said(list.flatMap(entriesOf)));
    }));

  it("stay where they are if the question is not in the list", () => {
    const [first, second] = [0, 1].map((turn) =>
      entriesOf({ hasSystem: false, calls: 1, names: "all", isAnswered: true }, turn),
    );
    const log = [...second!, ...first!.slice(1)];
    expect(said(inTurnOrder(log))).toEqual(said(log));
  });
});

describe("messages of turns that were stored apart", () => {
  /** `q1` is the question of turn 1, and names it; `a` answers, `s` instructs, `m` sums up. `@` precedes the turn. */
  const entryOf = (word: string) => {
    const [text, turn] = word.split("@") as [string, string | undefined];
    const summary = summaryMessage(text, { id: text, role: "human", source: { replaced: [], covered: [] } });
    const made = { q: human(text, text), a: ai(text), s: system(text), m: summary };
    const message = made[text[0] as keyof typeof made];
    const named = turn !== undefined && { turn: turnNameOf(turn) };
    return { message, ...encodeMessage(message, { id: message.id ?? text, ...named }) };
  };
  const entriesOfWords = (words: string) => words.split(" ").map(entryOf);
  const textsOf = (entries: readonly { readonly message: BaseMessage }[]) =>
    entries.map(({ message }) => summaryText(message)).join(" ");

  it.each([
    ["to a question that was stored without a turn", "q1 q2@q2 a1@q1 a2@q2", "q1 a1 q2 a2"],
    ["also those without a name behind it", "q1@q1 q2@q2 a1@q1 a2@q2", "q1 a1 q2 a2"],
    ["and one without a name stays behind the message before it", "q1@q1 q2@q2 a1@q1 a3", "q1 a1 q2 a3"],
    ["to an open question whose turn got another name", "q1 a1@x q2@q2 a3@x", "q1 a1 a3 q2"],
    ["not to a question that has its answer", "q1@q1 a1@q1 a2@x q2@q2 a3@x", "q1 a1 a2 a3 q2"],
    ["to the open question also behind an answer of another name", "q1 a1@x q2@q2 a3@q1", "q1 a1 a3 q2"],
    ["behind all that came after their question", "q1@q1 q2@q2 q3@q3 a9 a3@q3 a1@q1", "q1 a1 q2 q3 a9 a3"],
    ["before an answer of another name behind the whole turn", "q1 a2 a3@x a4@q1", "q1 a2 a4 a3"],
    ["not to a question of another turn", "q1@q1 a2@x q2@q2 a1@q1 a3@x", "q1 a1 a2 a3 q2"],
  ])("go %s", (_, log, ordered) => {
    expect(textsOf(inTurnOrder(entriesOfWords(log)))).toBe(ordered);
  });

  it.each([
    ["to their question in it", 1, "q1@q1 q2@q2 a2@q2 a1@q1", "q1 a1 q2 a2"],
    ["not to an instruction in it", 1, "s1@q1 q2@q2 a2@q2 a1@q1", "s1 q2 a2 a1"],
    ["not to a summary in it", 1, "m1@q1 q2@q2 a2@q2 a1@q1", "m1 q2 a2 a1"],
    ["and move nothing in it", 4, "q1@q1 q2@q2 a1@q1 a2@q2", "q1 q2 a1 a2"],
  ])("in the log behind a head go %s", (_, inHead, view, ordered) => {
    expect(textsOf(inTurnOrder(entriesOfWords(view), inHead))).toBe(ordered);
  });

  it.each<[string, readonly string[]]>([
    ["a1@q1 q2@q2 a2@q2", ["q1"]],
    ["q1 a1@q1", []],
    ["q1 a1@x", ["x"]],
    ["s1@x a1@x a2", []],
    ["a1", []],
  ])("have no question in the list %s: %j", (log, names) => {
    expect([...turnsWithoutQuestion(entriesOfWords(log))]).toStrictEqual(names.map(turnNameOf));
  });

  it("count in the round of their question, whose number it had in the log", () => {
    // Question 3 is another one of turn 1.
    const rounds = roundsInTurnOrder(entriesOfWords("a0 q1@q1 q2@q2 a1@q1 q3@q1 a2@q2"), 7);
    expect(rounds.map(({ index, messages }) => [index, textsOf(messages.map((message) => ({ message })))])).toEqual([
      [6, "a0"],
      [7, "q1 a1"],
      [9, "q3"],
      [8, "q2 a2"],
    ]);
  });
});

describe("the turn's name in a record", () => {
  it("is the same whether the rest is read or not, whatever texts and keys hold", () => {
    const text = fc.constantFrom(
      "plain",
      '"turn":"AAAAAAAAAAAAAA"',
      ',"meta":{"v":1,"turn":"AAAAAAAAAAAAAA"}}',
      "turn",
    );
    const meta = fc.record(
      {
        tokens: fc.dictionary(text, fc.nat()),
        at: fc.nat(),
        turn: fc.string().map(turnNameOf),
        output: fc.record({ as: fc.constant("text" as const), count: fc.constant(1), key: text }),
      },
      { requiredKeys: [] },
    );
    forAll(200, fc.tuple(text, meta), ([content, options]) => {
      const { record } = encodeMessage(ai(content), { id: content, ...options });
      expect(turnIn(record)).toBe(options.turn);
      expect(metaOf(record).turn).toBe(options.turn);
    });
  });
});
