import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import { coverageOf, coverageText } from "../../tools/faults/journal/coverage.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";
import { at, figures, final } from "./checked-runs.js";

const append = (asked: number, turn: string, count: number) => at(asked, { turn, count });
const slow = (asked: number, turn: string, count: number, told: number) =>
  at(asked, { turn, count, told, steps: true, door: "agent", client: "1-0" });
const view = (asked: number, runs: string, covered?: string) => {
  const said = covered === undefined ? {} : { covered: [coverageText(coverageOf(readRuns(covered)))] };
  return at(asked, { do: "view", answer: { runs, ...said } });
};

/** What the checker says of a session that nobody reduces any more. */
const found = (calls: Call[], log: string, more?: Partial<FinalSession>) => figures(calls, final(log, more));

describe("An answer that was stored behind a later turn", () => {
  // An agent's question `b` waited while `c` and `d` were stored; its view begins behind two messages of `a`.
  const calls = [append(0, "a", 4), slow(10, "b", 4, 60), append(20, "c", 2), append(30, "d", 6)];
  const log = "a:0-3 b:0-0 c:0-1 d:0-5 b:1-3";

  it("is counted where a summary leaves it out, or stands for it while the view shows it", () => {
    const wrong = ["wrongSummaries"];
    expect(found([...calls, view(70, "d:2-5", "a:0-3 b:0-0 c:0-1 d:0-1")], log)).toEqual(wrong);
    expect(found([...calls, view(70, "b:0-3 c:0-1 d:0-5", "a:0-3 b:0-0")], log)).toEqual(wrong);
    expect(found([...calls, view(70, "c:0-1 d:0-5 b:1-3", "a:0-3")], log)).toEqual(wrong);
    expect(found([...calls, view(70, "a:2-3 b:0-3 c:0-1 d:0-5", "a:0-0")], log)).toEqual(wrong);
  });

  it("is no newer than its question: a view may lack it, and a client may see it go", () => {
    expect(found([...calls, view(65, "a:2-3 b:0-3 c:0-1 d:0-5"), view(75, "d:2-5")], log)).toEqual([]);
    expect(found([...calls, view(75, "b:0-3 c:0-1")], log)).toEqual(["invalidViews"]);
    expect(found([...calls, view(15, "a:0-3"), view(75, "a:2-3 b:0-3")], log)).toEqual(["invalidViews"]);
    const reads = [view(65, "b:0-3 c:0-1 d:0-5"), view(75, "b:0-3 c:0-1")];
    expect(found([...calls, ...reads], log)).toEqual(["invalidViews", "staleReads"]);
  });
});
