import { coverageOf, coverageText } from "../../tools/faults/journal/coverage.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";
import { amounts, append, at, final, figures } from "./checked-runs.js";
import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";

const view = (asked: number, runs: string, more: Partial<Call> = {}) =>
  at(asked, { do: "view", answer: { runs, ...more.answer }, ...more });

describe("The checker of replies", () => {
  it("counts calls that failed by a reply of another command, and no others", () => {
    const failed = (error: string) => [append(0, "a"), view(10, "", { ok: false, answer: { error } })];
    for (const error of ["script_failed", "TypeError: Cannot read properties of undefined"]) {
      expect(amounts(failed(error), final("a:0-1"))).toEqual({ unknownReplies: 1 });
    }
    for (const error of ["timeout", "unavailable", "out_of_memory", "busy", "StoreError: Session s: no reply"]) {
      expect(amounts(failed(error), final("a:0-1"))).toEqual({});
    }
  });
});

describe("The checker of the log", () => {
  it("finds nothing where all that was acknowledged is there once, whole and in order", () => {
    const calls = [append(0, "a"), append(10, "b"), append(20, "c", { ok: false, told: Infinity })];
    expect(amounts(calls, final("a:0-1 b:0-1"))).toEqual({});
    expect(amounts(calls, final("a:0-1 b:0-1 c:0-1"))).toEqual({});
  });

  it("counts acknowledged messages that are missing, but not those with an unknown outcome", () => {
    const calls = [append(0, "a"), append(10, "b"), append(20, "c", { ok: false })];
    expect(amounts(calls, final("a:0-1"))).toEqual({ lost: 2 });
  });

  it("counts sessions whose keys expire at different times", () => {
    const calls = [append(0, "a")];
    expect(amounts(calls, final("a:0-1", { expiries: [70, 70, 70] }))).toEqual({});
    expect(amounts(calls, final("a:0-1", { expiries: [70, -1, 70] }))).toEqual({ torn: 1 });
  });

  it("counts messages that stand there twice", () => {
    expect(amounts([append(0, "a")], final("a:0-1 a:0-1"))).toEqual({ doubled: 2 });
  });

  it("counts turns that are there in part, or that others stand in", () => {
    expect(amounts([append(0, "a", { ok: false })], final("a:0-0"))).toEqual({ torn: 1 });
    const both = [append(0, "a"), append(0, "b")];
    expect(amounts(both, final("a:0-0 b:0-1 a:1-1"))).toEqual({ torn: 1 });
  });

  it("counts a session whose keys contradict each other as torn", () => {
    expect(amounts([append(0, "a")], final("a:0-1", { damaged: true }))).toEqual({ torn: 1 });
  });

  it("counts turns that stand before one that was acknowledged before they were asked for", () => {
    const calls = [append(0, "a"), append(10, "b")];
    expect(amounts(calls, final("b:0-1 a:0-1"))).toEqual({ reordered: 1 });
    const atOnce = [append(0, "a"), append(3, "b")];
    expect(amounts(atOnce, final("b:0-1 a:0-1"))).toEqual({});
  });

  it("counts the losses of a failover apart, with and without a replica's acknowledgement", () => {
    const windows = [{ from: 0, to: 100 }];
    const calls = [append(10, "a"), append(20, "b", { waits: true })];
    expect(amounts(calls, final(""), windows)).toEqual({ failoverLoss: 2, failoverLossWithWait: 2 });
    expect(amounts(calls, final("", { slot: 7 }), [{ from: 0, to: 100, slots: [[8, 9]] }])).toEqual({ lost: 4 });
    expect(amounts([...calls, append(200, "c")], final(""), windows)).toMatchObject({ lost: 2 });
  });
});

describe("Rewinds and clears", () => {
  it("excuse what they may have removed, and nothing that was acknowledged after them", () => {
    const calls = [append(0, "a"), at(10, { do: "clear" }), append(20, "b")];
    expect(amounts(calls, final("b:0-1"))).toEqual({});
    expect(amounts(calls, final(""))).toEqual({ lost: 2 });
  });

  it("leave what was acknowledged before the message that a rewind names was asked for", () => {
    const rewind = at(20, { do: "rewind", turn: "b", index: 0 });
    const calls = [append(0, "a"), append(10, "b"), rewind];
    expect(amounts(calls, final("a:0-1"))).toEqual({});
    expect(amounts(calls, final(""))).toEqual({ lost: 2 });
  });

  it("are counted as stale where a clear's messages are shown again", () => {
    const calls = [append(0, "a"), at(10, { do: "clear" }), view(30, "a:0-1")];
    expect(amounts(calls, final(""))).toEqual({ staleReads: 1 });
    expect(amounts(calls, final("a:0-1"))).toEqual({ staleReads: 2 });
    const retried = [append(0, "a"), append(1, "a", { ok: false, told: Infinity }), ...calls.slice(1)];
    expect(amounts(retried, final("a:0-1"))).toEqual({});
  });
});

describe("The checker of reads", () => {
  it("counts views that break a rule, and what models were sent", () => {
    const answer = { runs: "a:0-1", issues: ["S08"] };
    expect(amounts([append(0, "a"), view(10, "a:0-1", { answer })], final("a:0-1"))).toEqual({ invalidViews: 1 });
    expect(amounts([append(0, "a", { answer: { issues: ["S08"] } })], final("a:0-1"))).toEqual({ invalidViews: 1 });
  });

  it("counts views that lack the newest turn acknowledged before them, by any client", () => {
    const calls = [append(0, "a"), append(10, "b", { client: "1-0" })];
    expect(amounts([...calls, view(20, "a:0-1")], final("a:0-1 b:0-1"))).toEqual({ invalidViews: 1 });
    expect(amounts([...calls, view(12, "a:0-1")], final("a:0-1 b:0-1"))).toEqual({});
    expect(amounts([...calls, view(20, "b:0-1")], final("a:0-1 b:0-1"))).toEqual({});
  });

  it("counts views that show only what is older than a turn that a later rewind left", () => {
    const rewind = at(30, { do: "rewind", turn: "c", index: 0 });
    const calls = [append(0, "a"), append(10, "b"), append(20, "c"), rewind];
    expect(amounts([...calls, view(16, "a:0-1")], final("a:0-1 b:0-1"))).toEqual({ invalidViews: 1 });
    expect(amounts([...calls, view(16, "b:0-1")], final("a:0-1 b:0-1"))).toEqual({});
    expect(amounts([...calls, view(40, "a:0-1")], final("a:0-1"))).toEqual({ lost: 2, invalidViews: 1 });
    const last = { start: 4, head: [], covered: [], tokens: [], issues: [] };
    expect(amounts(calls, final("a:0-1 b:0-1", { view: last }))).toEqual({ invalidViews: 1 });
  });

  it("counts reads of one client that go back in time, and not those of two", () => {
    const calls = [append(0, "a"), append(10, "b", { told: 60 }), view(20, "a:0-1 b:0-1")];
    expect(amounts([...calls, view(30, "a:0-1")], final("a:0-1 b:0-1"))).toEqual({ staleReads: 1 });
    expect(amounts([...calls, view(30, "a:0-1", { client: "1-0" })], final("a:0-1 b:0-1"))).toEqual({});
  });

  it("counts transcripts that are not what the log began with", () => {
    const transcript = (runs: string) => at(20, { do: "transcript", answer: { runs } });
    const calls = [append(0, "a"), append(0, "b"), append(30, "c")];
    expect(amounts([...calls, transcript("a:0-1 b:0-1")], final("a:0-1 b:0-1 c:0-1"))).toEqual({});
    expect(amounts([...calls, transcript("b:0-1 a:0-1")], final("a:0-1 b:0-1 c:0-1"))).toEqual({ staleReads: 1 });
  });
});

describe("The checker of summaries", () => {
  const calls = [append(0, "a"), append(10, "b"), append(20, "c")];
  const log = "a:0-1 b:0-1 c:0-1";
  const last = (covered: string, head = "") => {
    const [start, view] = [4, { issues: [], tokens: readRuns("c:0-1") }];
    return final(log, { view: { ...view, start, head: readRuns(head), covered: [coverageOf(readRuns(covered))] } });
  };

  it("finds nothing where summary and head stand for what lies before the start", () => {
    expect(amounts(calls, last("a:0-1 b:0-1"))).toEqual({});
    expect(amounts(calls, last("a:0-1 b:1-1", "b:0-0"))).toEqual({});
  });

  it("counts summaries that say less, more or something else", () => {
    for (const covered of ["a:0-1", "a:0-1 b:0-1 c:0-0", "a:0-1 x:0-1"]) {
      expect(amounts(calls, last(covered))).toEqual({ wrongSummaries: 1 });
    }
  });

  it("checks the summaries that clients read, too", () => {
    const read = (covered: string) =>
      view(30, "c:0-1", { answer: { runs: "c:0-1", covered: [coverageText(coverageOf(readRuns(covered)))] } });
    expect(amounts([...calls, read("a:0-1 b:0-1")], final(log))).toEqual({});
    expect(amounts([...calls, read("a:0-1")], final(log))).toEqual({ wrongSummaries: 1 });
  });

  it("counts summaries of one session that were written at once", () => {
    const summarize = (asked: number, client: string, told = asked + 50) =>
      at(asked, { do: "summarize", turn: "a", client, told, session: undefined } as Partial<Call>);
    expect(amounts([...calls, summarize(30, "0-0"), summarize(90, "1-0")], final(log))).toEqual({});
    expect(amounts([...calls, summarize(30, "0-0"), summarize(60, "1-0")], final(log))).toEqual({ wrongSummaries: 1 });
    // The first was killed: nobody knows how long it would have taken.
    expect(amounts([...calls, summarize(30, "0-0", Infinity), summarize(60, "1-0")], final(log))).toEqual({});
  });
});

describe("The checker of turns that hold their session", () => {
  const steps = (turn: string, held: boolean) => at(0, { turn, count: 2, told: 90, ok: false, steps: true, held });
  const found = (log: string, windows: FailoverWindow[] = []) =>
    figures([steps("a", true), steps("b", true), steps("c", false)], final(log), windows);

  it("finds nothing where they follow each other, or where a turn that did not hold it stands inside", () => {
    expect(found("a:0-1 b:0-1")).toEqual([]);
    expect(found("a:0-0 b:0-1")).toEqual([]);
    expect(found("a:0-0 c:0-1 a:1-1 b:0-1")).toEqual([]);
  });

  it("counts those that stand inside each other, unless a replica took over", () => {
    expect(found("a:0-0 b:0-1 a:1-1")).toEqual(["mixedTurns"]);
    expect(found("a:0-0 b:0-0 a:1-1 b:1-1")).toEqual(["mixedTurns"]);
    expect(found("a:0-0 b:0-1 a:1-1", [{ from: 10, to: 20 }])).toEqual([]);
  });
});

type More = Partial<FinalSession> & { readonly windows?: FailoverWindow[] };
const found = (calls: Call[], log: string, { windows, ...more }: More = {}) =>
  amounts(calls, final(log, more), windows);

describe("Turns that are written step by step", () => {
  const step = (more: Partial<Call> = {}) => append(0, "a", { count: 4, steps: true, told: 50, ...more });

  it("are counted where a step is missing, stands twice or in another order", () => {
    expect(found([step()], "a:0-2")).toEqual({ lost: 1 });
    expect(found([step({ ok: false })], "a:1-2")).toEqual({ torn: 1 });
    expect(found([step()], "a:0-0 a:2-3 a:1-1")).toEqual({ torn: 1 });
    expect(found([step()], "a:0-1 a:1-3")).toEqual({ doubled: 1 });
  });
});

describe("Turns that take the place of others", () => {
  const replace = (asked: number, more: Partial<Call> = {}) =>
    at(asked, { do: "replace", turn: "c", count: 2, replaces: "b", ...more });
  const calls = [append(0, "a"), append(10, "b")];

  it("excuse what they replaced, and not themselves", () => {
    expect(found([...calls, replace(20)], "a:0-1 c:0-1")).toEqual({});
    expect(found([...calls, replace(20)], "c:0-1")).toEqual({ lost: 2 });
    expect(found([...calls, replace(20)], "a:0-1")).toMatchObject({ lost: 2 });
    expect(found([...calls, replace(20, { ok: false, told: Infinity })], "a:0-1 b:0-1")).toEqual({});
  });
});

describe("Sessions that discard what leaves the view", () => {
  const calls = [append(0, "a"), append(10, "b"), append(20, "c")];

  it("are counted where anything else is missing", () => {
    expect(found(calls, "a:0-1 c:0-1", { discarded: 2 })).toEqual({ lost: 2 });
    expect(found(calls, "a:0-1 b:0-0 c:0-1", { discarded: 2 })).toMatchObject({ torn: 1 });
  });

  it("are counted where a discarded turn was stored again", () => {
    expect(found(calls, "c:0-1 a:0-1", { discarded: 4 })).toMatchObject({ doubled: 2, reordered: 1 });
  });

  it("are checked for how many messages a summary stands for", () => {
    const tokens = readRuns("c:0-1");
    const view = { start: 0, head: [], tokens, issues: [], covered: [coverageOf(readRuns("a:0-1 b:0-1"))] };
    expect(found(calls, "c:0-1", { discarded: 4, view })).toEqual({});
    expect(found(calls, "c:0-1", { discarded: 3, view })).toEqual({ wrongSummaries: 1 });
  });
});

describe("An answer that was stored behind a later turn", () => {
  const append = (asked: number, turn: string, count: number) => at(asked, { turn, count });
  const slow = (asked: number, turn: string, count: number, told: number) =>
    at(asked, { turn, count, told, steps: true, door: "agent", client: "1-0" });
  const view = (asked: number, runs: string, covered?: string) => {
    const said = covered === undefined ? {} : { covered: [coverageText(coverageOf(readRuns(covered)))] };
    return at(asked, { do: "view", answer: { runs, ...said } });
  };

  /** What the checker says of a session that nobody reduces any more. */
  const found = (calls: Call[], log: string, more?: Partial<FinalSession>) => figures(calls, final(log, more));

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
