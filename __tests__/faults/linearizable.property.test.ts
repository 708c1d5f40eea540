import fc from "fast-check";
import { judge } from "../../tools/faults/second-opinion/judge.js";
import { callsOf } from "../../tools/faults/second-opinion/journals.js";
import { linearize, type Operation } from "../../tools/faults/second-opinion/linearizable.js";
import { LogModel, type LogOperation } from "../../tools/faults/second-opinion/log-model.js";

type LogCall = Operation<LogOperation>;

/** Tries every order. */
function isLinearizable(calls: readonly LogCall[], model = new LogModel()): boolean {
  if (calls.every(({ maybe }) => maybe)) {
    return true;
  }
  return calls.some((call) => {
    const others = calls.filter((other) => other !== call);
    const isFirst = others.every(({ maybe, told }) => maybe || told >= call.asked);
    const effect = isFirst ? model.apply(call.does) : undefined;
    // What was told before this one was asked for, and may not have happened, has not happened then.
    const left = others.filter(({ maybe, told }) => !maybe || told >= call.asked);
    const isFound = effect !== undefined && isLinearizable(left, model);
    if (typeof effect === "function") {
      effect();
    }
    return isFound;
  });
}

const turns = fc.constantFrom("a", "b", "c");
const does: fc.Arbitrary<LogOperation> = fc.oneof(
  fc.record({ kind: fc.constant("append" as const), turn: turns }),
  fc.record({ kind: fc.constant("rewind" as const), from: turns }),
  fc.record({ kind: fc.constant("replace" as const), turn: turns, from: turns }),
  fc.constant({ kind: "clear" as const }),
  fc.record({
    kind: fc.constant("read" as const),
    shows: fc.constantFrom("whole" as const, "end" as const, "beginning" as const, "part" as const),
    turns: fc.uniqueArray(turns, { maxLength: 3 }),
  }),
);
const call = fc
  .record({ asked: fc.nat(8), took: fc.nat(4), isLost: fc.boolean(), does, rank: fc.nat(3) })
  .map(({ asked, took, isLost, does, rank }): LogCall => {
    const maybe = isLost && does.kind !== "read";
    return { asked, told: maybe && took > 2 ? Infinity : asked + took, maybe, rank, does };
  });

describe("The search for an order of calls", () => {
  it("agrees with all orders tried one by one", () => {
    fc.assert(
      fc.property(fc.array(call, { maxLength: 6 }), fc.boolean(), (calls, discards) => {
        const isFound = linearize(calls, new LogModel({ discards })).verdict === "linearizable";
        expect(isFound).toBe(isLinearizable(calls, new LogModel({ discards })));
      }),
      { numRuns: 1_000 },
    );
  });

  it("says that it found no end where the budget is too small", () => {
    const append = (turn: string): LogCall => ({
      asked: 0,
      told: 9,
      maybe: false,
      rank: 0,
      does: { kind: "append", turn },
    });
    const read: LogOperation = { kind: "read", shows: "whole", turns: ["never"] };
    const calls = [..."abcdef"].map(append).concat({ asked: 10, told: 11, maybe: false, rank: 0, does: read });
    expect(linearize(calls, new LogModel(), { budget: 100 })).toEqual({ verdict: "undecided" });
    expect(linearize(calls, new LogModel())).toMatchObject({ verdict: "not linearizable", at: { does: read } });
  });
});

/** Journals of one client that waits for each answer. */
function journalOf(lines: readonly (readonly [question: object, answer?: object])[]) {
  const text = lines.flatMap(([question, answer], at) => [
    { at: at * 10, ask: at, session: "s", ...question },
    ...(answer === undefined ? [] : [{ at: at * 10 + 5, told: at, ok: true, ...answer }]),
  ]);
  const calls = callsOf("0-0", text.map((line) => JSON.stringify(line)).join("\n"));
  return judge({ calls, last: new Map(), keptUntil: () => Infinity });
}
const append = (turn: string, count = 2) => [{ do: "append", turn, count }, {}] as const;
const transcript = (runs: string) => [{ do: "transcript", whole: true }, { runs }] as const;
const view = (runs: string) => [{ do: "view" }, { runs }] as const;
const rewind = (turn: string) => [{ do: "rewind", turn, index: 0 }, {}] as const;

describe("Journals of sessions from which something is removed", () => {
  it.each([
    ["a rewind", [append("a"), append("b"), rewind("b"), append("c"), transcript("a:0-1 c:0-1")]],
    [
      "a rewind without an answer",
      [append("a"), [{ do: "rewind", turn: "a" }] as const, transcript("a:0-1"), view("")],
    ],
    ["a clear", [append("a"), [{ do: "clear" }, {}] as const, append("a"), view("a:0-1")]],
    [
      "a turn in place of another",
      [append("a"), [{ do: "replace", turn: "b", count: 2, replaces: "a" }, {}] as const, view("b:0-1")],
    ],
    ["nothing, where a rewind left what was discarded", [append("a"), append("b"), rewind("b"), view("")]],
    [
      "a view that starts inside of a turn",
      [append("a", 9), append("b"), rewind("b"), append("c"), view("a:0-0 a:5-8 c:0-1")],
    ],
  ])("may show %s", (_, lines) => {
    expect(journalOf(lines)).toMatchObject({ anomalies: [], undecided: [] });
  });

  it.each([
    ["what a rewind removed", [append("a"), append("b"), rewind("b"), view("a:0-1 b:0-1")]],
    ["less than was acknowledged", [append("a"), rewind("a"), append("b"), append("c"), view("b:0-1")]],
    ["what a clear ended", [append("a"), [{ do: "clear" }, {}] as const, append("b"), transcript("a:0-1 b:0-1")]],
    [
      "both of two turns of which one replaced the other",
      [append("a"), [{ do: "replace", turn: "b", count: 2, replaces: "a" }, {}] as const, view("a:0-1 b:0-1")],
    ],
    ["a turn in two halves", [append("a"), append("b"), rewind("b"), append("c"), view("a:0-0 c:0-1 a:1-1")]],
    ["the first half of the newest turn", [append("a"), append("b"), rewind("b"), append("c"), view("a:0-1 c:0-0")]],
    ["a rewind to nothing", [append("a"), rewind("b")]],
    ["nothing, where nothing was removed", [append("a"), append("b"), view("")]],
    ["nothing, where a newer turn stands behind the rewind", [append("a"), rewind("a"), append("b"), view("")]],
    ["nothing, where all is kept", [append("a"), append("b"), rewind("b"), view(""), transcript("a:0-1")]],
  ])("may not show %s", (_, lines) => {
    expect(journalOf(lines).anomalies).not.toEqual([]);
  });

  it("of 100,000 acknowledged messages are judged", () => {
    const lines = Array.from({ length: 10_000 }, (_, at) => [
      append(`t${at}`, 10),
      at % 100 === 99 ? rewind(`t${at}`) : view(`t${at}:2-9`),
    ]).flat();
    expect(journalOf(lines)).toMatchObject({ acknowledged: 100_000, anomalies: [], undecided: [] });
  });
});
