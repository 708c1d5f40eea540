import type { BaseMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { encodeMessage, turnNameOf } from "../../src/codec/encode-message.js";
import { inTurnOrder } from "../../src/session/view.js";
import { metaOf, turnIn } from "../../src/codec/decode-record.js";
import { ai, aiCalls, human, system, tool } from "../support/messages.js";
import { propertyRuns } from "../support/property-runs.js";

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

  it("stand with the question of their turn, and questions in the order in which they were stored", () => {
    fc.assert(
      fc.property(scene, ([list, numbers]) => {
        const log = interleaved(list, (length) => numbers.next().value! % length);
        expect(said(inTurnOrder(log))).toEqual(said(list.flatMap(entriesOf)));
      }),
      { numRuns: propertyRuns(300) },
    );
  });

  it("stay as they are where they are in order", () => {
    fc.assert(
      fc.property(turns, (list) => {
        const log = list.flatMap(entriesOf);
        expect(said(inTurnOrder(log))).toEqual(said(log));
      }),
      { numRuns: propertyRuns(100) },
    );
  });

  it("stay where they are if the question is not in the list", () => {
    const [first, second] = [0, 1].map((turn) =>
      entriesOf({ hasSystem: false, calls: 1, names: "all", isAnswered: true }, turn),
    );
    const log = [...second!, ...first!.slice(1)];
    expect(said(inTurnOrder(log))).toEqual(said(log));
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
    fc.assert(
      fc.property(text, meta, (content, options) => {
        const { record } = encodeMessage(ai(content), { id: content, ...options });
        expect(turnIn(record)).toBe(options.turn);
        expect(metaOf(record).turn).toBe(options.turn);
      }),
      { numRuns: propertyRuns(200) },
    );
  });
});
