import { join } from "node:path";
import { differencesOf, opinionLines } from "../../tools/faults/opinions.js";
import { judge } from "../../tools/faults/second-opinion/judge.js";
import {
  readFolder,
  type Call,
  type Journals,
  type LastRead,
  type Word,
} from "../../tools/faults/second-opinion/journals.js";
import { judgeLists, type Append, type Read, type Transaction } from "../../tools/faults/second-opinion/list-append.js";

const a = (append: string, value: string): Append => ({ append, value });
const r = (read: string, values: string): Read => ({ read, values: values === "" ? [] : values.split(" ") });
/** A transaction at any time. */
const free = (name: string, does: (Append | Read)[], more: Partial<Transaction> = {}): Transaction => {
  return { name, asked: 0, told: Infinity, outcome: "done", does, ...more };
};
const names = (history: Transaction[]) => judgeLists(history).map(({ name }) => name);

describe("Histories of lists from the literature", () => {
  const written = [free("w1", [a("x", "1")]), free("w2", [a("x", "2")])];

  it.each<[string, Transaction[]]>([
    ["no anomaly in a serial history", [...written, free("r", [r("x", "1 2")])]],
    [
      "no anomaly in a read of an unknown write",
      [free("w", [a("x", "1")], { outcome: "unknown" }), free("r", [r("x", "1")])],
    ],
    [
      "no anomaly where two read what the other wrote before",
      [
        free("t1", [r("x", ""), a("x", "1")]),
        free("t2", [r("x", "1"), a("y", "1")]),
        free("t3", [r("y", "1"), r("x", "1")]),
      ],
    ],
  ])("have %s", (_, history) => expect(judgeLists(history)).toEqual([]));

  it.each<[string, string, Transaction[]]>([
    [
      "G0",
      "a dirty write",
      [
        free("t1", [a("x", "1"), a("y", "1")]),
        free("t2", [a("x", "2"), a("y", "2")]),
        free("r", [r("x", "1 2")]),
        free("s", [r("y", "2 1")]),
      ],
    ],
    ["G1a", "an aborted read", [free("t1", [a("x", "1")], { outcome: "failed" }), free("t2", [r("x", "1")])]],
    ["G1b", "an intermediate read", [free("t1", [a("x", "1"), a("x", "2")]), free("t2", [r("x", "1")])]],
    [
      "G1c",
      "circular information flow",
      [free("t1", [a("x", "1"), r("y", "1")]), free("t2", [a("y", "1"), r("x", "1")])],
    ],
    [
      "G-single",
      "read skew, a fractured read",
      [free("t1", [a("x", "1"), a("y", "1")]), free("t2", [r("x", "1"), r("y", "")]), free("t3", [r("y", "1")])],
    ],
    [
      "G-single",
      "a lost update",
      [
        free("t0", [a("x", "1")]),
        free("t1", [r("x", "1"), a("x", "2")]),
        free("t2", [r("x", "1"), a("x", "3")]),
        free("t3", [r("x", "1 2 3")]),
      ],
    ],
    [
      "G2-item",
      "write skew",
      [
        free("t1", [r("x", ""), a("y", "1")]),
        free("t2", [r("y", ""), a("x", "1")]),
        free("t3", [r("x", "1"), r("y", "1")]),
      ],
    ],
    [
      "G-single-realtime",
      "a stale read",
      [
        free("t1", [a("x", "1")], { asked: 0, told: 1 }),
        free("t2", [r("x", "")], { asked: 2, told: 3 }),
        free("t3", [r("x", "1")], { asked: 4, told: 5 }),
      ],
    ],
    [
      "G-single-realtime",
      "a lost write",
      [free("t1", [a("x", "1")], { asked: 0, told: 1 }), free("t2", [r("x", "")], { asked: 2, told: 3 })],
    ],
    [
      "G0-realtime",
      "writes in another order than they were acknowledged in",
      [
        free("t1", [a("x", "1")], { asked: 0, told: 1 }),
        free("t2", [a("x", "2")], { asked: 2, told: 3 }),
        free("t3", [r("x", "2 1")]),
      ],
    ],
    [
      "incompatible-order",
      "two orders of one list",
      [...written, free("t3", [r("x", "1 2")]), free("t4", [r("x", "2 1")])],
    ],
    ["duplicate", "a value that is there twice", [...written, free("t3", [r("x", "1 2 1")])]],
    ["unwritten", "a value from nowhere", [free("t1", [r("x", "7")])]],
    [
      "future-read",
      "a read of what was written later",
      [free("t1", [r("x", "1")], { asked: 0, told: 1 }), free("t2", [a("x", "1")], { asked: 2, told: 3 })],
    ],
    ["internal", "a transaction that does not see its own write", [free("t1", [a("x", "1"), r("x", "")])]],
    [
      "torn",
      "a transaction without its beginning",
      [free("t1", [a("x", "1"), a("x", "2")]), free("t2", [r("x", "2")])],
    ],
  ])("have %s in %s", (name, _, history) => expect(names(history)).toContain(name));
});

function findSureTurns(own: readonly Call[]): readonly Call[] {
  const isRemoved = own.some(({ does }) => ["rewind", "clear", "replace", "erase"].includes(does));
  const callsByTurn = new Map<Call["turn"], number>();
  own.forEach(({ turn }) => callsByTurn.set(turn, (callsByTurn.get(turn) ?? 0) + 1));
  return own.filter(
    ({ ok, does, turn, steps }) => !isRemoved && ok && !steps && does === "append" && callsByTurn.get(turn) === 1,
  );
}

describe("Journals of a real run", () => {
  const journals = readFolder(join(import.meta.dirname, "journals"));
  const logOf = (session: string) => journals.last.get(session)!.log;
  const wordText = ({ turn, index }: Word) => `${turn}:${index}`;
  const callsBySession = new Map<string, Call[]>();
  for (const call of journals.calls) {
    const own = callsBySession.get(call.session) ?? [];
    callsBySession.set(call.session, own);
    own.push(call);
  }
  const callsOf = ({ session }: LastRead) => callsBySession.get(session) ?? [];
  const sureBySession = new Map<string, readonly Call[]>();
  /** The turns that one call stored, whole, and that nothing could have removed. */
  const sureTurns = (last: LastRead): readonly Call[] => {
    const known = sureBySession.get(last.session) ?? findSureTurns(callsOf(last));
    sureBySession.set(last.session, known);
    return known;
  };
  const beginOf = (last: LastRead) => last.log.find(({ turn }) => turn === sureTurns(last)[0]!.turn)!;
  const endOf = (last: LastRead) => last.log.findLast(({ turn }) => turn === sureTurns(last)[0]!.turn)!;
  const halved = (last: LastRead) => [...last.log.filter((word) => word !== endOf(last)), endOf(last)];
  const swapped = ({ log }: LastRead, first: string | undefined, second: string | undefined) =>
    log.flatMap((word) => {
      const other = word.turn === first ? second : word.turn === second ? first : undefined;
      const moved = word.index === 0 ? log.filter(({ turn }) => turn === other) : [];
      return other === undefined ? [word] : moved;
    });
  const withLast = (last: LastRead): Journals => ({
    ...journals,
    last: new Map([...journals.last, [last.session, last]]),
  });
  const found = (changed: Journals, { session }: LastRead) => {
    const calls = changed.calls.filter((call) => call.session === session);
    return judge({ ...changed, calls }).anomalies.length > 0;
  };
  const lasts = [...journals.last.values()].filter(
    (last) => last.log.length > 0 && last.discarded === 0 && sureTurns(last).length > 1,
  );
  /** Two turns of which the second was asked for when the first was stored. */
  const rowOf = (last: LastRead) => {
    const [first, ...others] = [...sureTurns(last)].sort((left, right) => left.told - right.told);
    const second = others.find(({ asked }) => asked > first!.told);
    return second === undefined ? [] : [{ first: first!.turn, second: second.turn }];
  };

  it("are sound", () => {
    const opinion = judge(journals);
    expect(opinion).toMatchObject({ anomalies: [], undecided: [] });
    expect(opinion.acknowledged).toBeGreaterThan(7_000);
    expect(opinionLines(opinion)).toContain("anomalies: none");
    expect(lasts.flatMap(rowOf).length).toBeGreaterThan(5);
    expect(lasts.filter((last) => found(journals, last))).toEqual([]);
  });

  it.each<[string, (last: LastRead) => LastRead["log"]]>([
    ["lost", (last) => last.log.filter(({ turn }) => turn !== sureTurns(last)[0]!.turn)],
    ["doubled", (last) => [...last.log, ...last.log.filter(({ turn }) => turn === last.log[0]!.turn)]],
    ["swapped with a later one", (last) => rowOf(last).flatMap(({ first, second }) => swapped(last, first, second))],
    ["in two halves", (last) => halved(last)],
    ["without its end", (last) => last.log.filter((word) => word !== endOf(last))],
    ["without its beginning", (last) => last.log.filter((word) => word !== beginOf(last))],
  ])("in which a turn is %s are not", (_, mutate) => {
    const mutated = lasts.map((last) => ({ ...last, log: mutate(last) }));
    const isSame = ({ session, log }: LastRead) => String(log.map(wordText)) === String(logOf(session).map(wordText));
    const changed = mutated.filter((last) => last.log.length > 0 && !isSame(last));
    expect(changed.length).toBeGreaterThan(5);
    expect(changed.filter((last) => !found(withLast(last), last))).toEqual([]);
  });

  it("in which a client reads what was there before are not", () => {
    const missed = lasts.filter((last) => {
      const [call] = sureTurns(last);
      const stale: Call = { ...call!, does: "transcript", whole: true, shown: [], asked: last.at, told: last.at + 1 };
      return !found({ ...journals, calls: [...journals.calls, stale] }, last);
    });
    expect(missed).toEqual([]);
  });

  it("are compared with the first opinion: what only one of them found is said", () => {
    const opinion = judge(journals);
    const finding = { figure: "lost", session: "g1r0", amount: 1, says: "it is lost" } as const;
    const anomaly = { name: "G0", session: "g2r0.copy.1", says: "a cycle" };
    expect(differencesOf([], opinion)).toEqual([]);
    expect(differencesOf([finding], opinion)).toHaveLength(1);
    expect(differencesOf([], { ...opinion, anomalies: [anomaly] })).toHaveLength(1);
    expect(differencesOf([{ ...finding, session: "g2r0" }], { ...opinion, anomalies: [anomaly] })).toEqual([]);
    expect(differencesOf([finding], { ...opinion, undecided: ["g1r0"] })).toEqual([]);
  });
});
