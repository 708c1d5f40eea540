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

/** A history as text: transactions between semicolons, `x+1` an append to a list and `x=1,2` what a read found. */
function historyOf(text: string): Transaction[] {
  return text.split("; ").map((transaction, index) => {
    // One without an answer begins with ?, one that failed with !; one that has its times ends with them.
    const [, mark = "", steps = "", asked = "0", told = "Infinity"] = /^([?!]?)(.*?)(?:@(\d+)-(\d+))?$/.exec(
      transaction,
    )!;
    const outcome = mark === "?" ? "unknown" : mark === "!" ? "failed" : "done";
    const does = steps.split(" ").map((step): Append | Read => {
      const [list = "", value = ""] = step.split(/[+=]/);
      return step.includes("+") ? { append: list, value } : { read: list, values: value.split(",").filter(Boolean) };
    });
    return { name: `t${index + 1}`, asked: Number(asked), told: Number(told), outcome, does };
  });
}

describe("Histories of lists from the literature", () => {
  it.each([
    ["in a serial history", "x+1; x+2; x=1,2"],
    ["in a read of an unknown write", "?x+1; x=1"],
    ["where two read what the other wrote before", "x= x+1; x=1 y+1; y=1 x=1"],
  ])("have no anomaly %s", (_, history) => expect(judgeLists(historyOf(history))).toEqual([]));

  it.each([
    ["G0", "a dirty write", "x+1 y+1; x+2 y+2; x=1,2; y=2,1"],
    ["G1a", "an aborted read", "!x+1; x=1"],
    ["G1b", "an intermediate read", "x+1 x+2; x=1"],
    ["G1c", "circular information flow", "x+1 y=1; y+1 x=1"],
    ["G-single", "read skew, a fractured read", "x+1 y+1; x=1 y=; y=1"],
    ["G-single", "a lost update", "x+1; x=1 x+2; x=1 x+3; x=1,2,3"],
    ["G2-item", "write skew", "x= y+1; y= x+1; x=1 y=1"],
    ["G-single-realtime", "a stale read", "x+1@0-1; x=@2-3; x=1@4-5"],
    ["G-single-realtime", "a lost write", "x+1@0-1; x=@2-3"],
    ["G0-realtime", "writes in another order than they were acknowledged in", "x+1@0-1; x+2@2-3; x=2,1"],
    ["incompatible-order", "two orders of one list", "x+1; x+2; x=1,2; x=2,1"],
    ["duplicate", "a value that is there twice", "x+1; x+2; x=1,2,1"],
    ["unwritten", "a value from nowhere", "x=7"],
    ["future-read", "a read of what was written later", "x=1@0-1; x+1@2-3"],
    ["internal", "a transaction that does not see its own write", "x+1 x="],
    ["torn", "a transaction without its beginning", "x+1 x+2; x=2"],
  ])("have %s in %s", (name, _, history) => {
    expect(judgeLists(historyOf(history)).map((anomaly) => anomaly.name)).toContain(name);
  });
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
