import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { append as appendOf, at, figures, final, append, findings } from "./checked-runs.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import { checkLists } from "../../tools/faults/checking/check-lists.js";
import { checkThreads } from "../../tools/faults/checking/check-threads.js";
import { readRuns } from "../../tools/faults/journal/runs.js";
import { checkAnswers, type FinalChat } from "../../tools/faults/checking/check-answers.js";
import type { Told } from "../../tools/faults/journal/entries.js";
import { partsOf, wholeAnswer } from "../../tools/faults/journal/said-parts.js";

describe("The checker of erasures", () => {
  const append = (asked: number, turn: string, more: Partial<Call> = {}) =>
    appendOf(asked, turn, { owner: "ann", ...more });
  /** From 20 to 25, guarded until 10,020. */
  const erase = (more: Partial<Call> = {}) => at(20, { do: "erase", owner: "ann", guardMs: 10, ...more });
  const refused = (asked: number, turn: string) => append(asked, turn, { ok: false, answer: { error: "erased" } });
  const found = (calls: Call[], log = "", keys = 0, windows: FailoverWindow[] = []) =>
    figures(calls, final(log, { keys }), windows);

  it("finds nothing where all that was written is gone and late writers are refused", () => {
    expect(found([append(0, "a"), erase(), refused(30, "b")])).toEqual([]);
    expect(found([append(0, "a"), append(18, "b"), erase(), refused(30, "c")])).toEqual([]);
    expect(found([append(0, "a"), erase({ ok: false, told: Infinity })], "a:0-1", 3)).toEqual([]);
  });

  it("counts what is acknowledged or shown while the guard stands", () => {
    expect(found([append(0, "a"), erase(), append(30, "b")])).toContain("wrongErasures");
    const read = at(30, { do: "view", answer: { runs: "a:0-1" } });
    expect(found([append(0, "a"), erase(), read])).toEqual(["staleReads", "wrongErasures"]);
  });

  it("counts the thread, the run and the item of an owner that a client finds behind their erasure", () => {
    const beside = (left: string[]) => at(20, { do: "erase-beside", answer: { left } });
    expect(found([beside([])])).toEqual([]);
    expect(found([beside(["thread", "item"])])).toEqual(["wrongErasures", "wrongErasures"]);
    expect(found([beside(["run"])], "", 0, [{ from: 10, to: 30 }])).toEqual([]);
    expect(found([{ ...beside(["run"]), ok: false }])).toEqual([]);
  });

  it("counts keys that are left after the guard, unless somebody may have begun the session anew", () => {
    expect(found([append(0, "a"), erase()], "", 1)).toEqual(["wrongErasures"]);
    expect(found([append(0, "a"), erase(), append(20_000, "b")], "b:0-1", 3)).toEqual([]);
    expect(found([append(0, "a"), erase(), append(5, "b", { ok: false, told: Infinity })], "", 3)).toEqual([]);
  });

  it("counts messages that come back later", () => {
    expect(found([append(0, "a"), erase(), append(20_000, "b")], "a:0-1 b:0-1", 3)).toEqual(["staleReads"]);
  });
});

describe("The checker of copies", () => {
  const fork = (asked: number, more: Partial<Call> = {}) => at(asked, { do: "fork", into: "copy", ...more });
  const copy = (log: string) => final(log, { id: "copy" });
  const found = (calls: Call[], made: FinalSession, windows: FailoverWindow[] = [], discarded = 0) => {
    const sessions = [final("a:0-1 b:0-1 c:0-1", { discarded }), made];
    return findings(calls, sessions, windows).flatMap(({ session, figure }) => (session === "copy" ? [figure] : []));
  };

  const calls = [append(0, "a"), append(10, "b"), append(40, "c")];

  it("finds nothing in a copy of what stood there at one moment of the call", () => {
    expect(found([...calls, fork(20)], copy("a:0-1 b:0-1"))).toEqual([]);
    for (const log of ["a:0-1 b:0-1", "a:0-1 b:0-1 c:0-1"]) {
      expect(found([...calls, fork(42)], copy(log))).toEqual([]);
    }
  });

  it("counts copies that lack an acknowledged turn, tear one, change the order or hold a later one", () => {
    for (const log of ["a:0-1", "", "a:0-1 b:0-0", "b:0-1 a:0-1", "a:0-1 b:0-1 c:0-1", "a:0-1 b:0-1 b:0-1"]) {
      expect(found([...calls, fork(20)], copy(log))).toContain("wrongForks");
    }
  });

  it("takes the beginning of a session that was asked for, at its exact length", () => {
    expect(found([...calls, fork(20, { upTo: 3 })], copy("a:0-1 b:0-0"))).toEqual([]);
    expect(found([...calls, fork(20, { upTo: 3 })], copy("a:0-1"))).toEqual(["wrongForks"]);
  });

  it("counts reads that showed a part of a copy", () => {
    const read = (runs: string) => at(22, { do: "transcript", session: "copy", answer: { runs } });
    expect(found([...calls, fork(20), read(""), read("a:0-1 b:0-1")], copy("a:0-1 b:0-1"))).toEqual([]);
    expect(found([...calls, fork(20), read("a:0-1")], copy("a:0-1 b:0-1"))).toEqual(["wrongForks"]);
  });
});

describe("The checker of lists", () => {
  const found = (calls: Call[], listed: string[], windows: FailoverWindow[] = []) => {
    const about = { sessions: [final("")], callsOf: () => calls, windows };
    return checkLists([{ owner: "ann", sessions: listed }], about).map(({ figure }) => figure);
  };

  const claim = at(0, { turn: "a", count: 2, owner: "ann" });

  it("counts sessions that the list of their owner lacks, also emptied ones, or holds twice", () => {
    expect(found([claim], ["s", "t"])).toEqual([]);
    expect(found([claim], ["t"])).toEqual(["wrongLists"]);
    expect(found([claim, at(10, { do: "rewind", turn: "a", index: 0 })], [])).toEqual(["wrongLists"]);
    expect(found([claim], ["s", "t", "s"])).toEqual(["wrongLists"]);
  });

  it("counts walks that showed a session twice, but for a failover meanwhile, or one of somebody else", () => {
    const walk = (...listed: string[]) => at(10, { do: "list", owner: "ann", answer: { listed } });
    expect(found([claim, walk("s", "s.copy.1")], ["s"])).toEqual([]);
    expect(found([claim, walk("s", "s")], ["s"])).toEqual(["wrongLists"]);
    expect(found([claim, walk("s", "s")], ["s"], [{ from: 20, to: 30 }])).toEqual(["wrongLists"]);
    expect(found([claim, walk("s", "s")], ["s"], [{ from: 12, to: 13 }])).toEqual([]);
    expect(found([{ ...claim, owner: "bob" }, walk("s")], [])).toContain("wrongLists");
  });
});

describe("The checker of threads", () => {
  const call = (asked: number, more: Partial<Call>) => at(asked, { thread: "t", do: "put", ...more });
  const puts = [call(0, { turn: "a", count: 2 }), call(10, { turn: "b", count: 1 })];

  function found(runs: string, calls: readonly Call[] = puts, errors: readonly string[] = [], windows: number[] = []) {
    const around = windows.map((from) => ({ from, to: from + 1 }));
    return checkThreads([{ id: "t", tokens: readRuns(runs), errors }], calls, around).map(({ says }) => says);
  }

  it("counts acknowledged messages that are missing, doubled or in another order", () => {
    expect(found("a:0-1 b:0-0")).toEqual([]);
    expect(found("a:0-1")).toEqual(["[b-0] is missing"]);
    expect(found("a:0-1 b:0-0 a:1-1")).toEqual(["[a-1] stands there twice"]);
    expect(found("b:0-0 a:0-1")).toEqual(["messages stand in another order than they were put"]);
  });

  it("counts checkpoints that cannot be read, in the end and by a client, and what a read lacks", () => {
    const read = (more: Partial<Call>) => [...puts, call(30, { do: "get", ...more })];
    expect(found("a:0-1 b:0-0", puts, ["damaged: …"])).toEqual(["damaged: …"]);
    expect(found("a:0-1 b:0-0", read({ answer: { runs: "a:0-1" } }))).toEqual(["[b-0] is missing, in a read at 30"]);
    expect(found("a:0-1 b:0-0", read({ ok: false, answer: { error: "damaged" } }))).toHaveLength(1);
    expect(found("a:0-1 b:0-0", read({ ok: false, answer: { error: "timeout" } }))).toEqual([]);
  });
});

describe("The checker of answers that were runs", () => {
  const follow = (asked: number, turn: string, answer: Partial<Told>): Call => {
    const base = { client: "0-0", session: "s", chat: "s.chat", do: "follow", asked, told: asked + 5 };
    return { ...base, turn, ok: answer.end === "done", answer } as Call;
  };
  const whole = wholeAnswer("a");
  const done = (asked: number, more: Partial<Told> = {}) =>
    follow(asked, "a", { said: whole, end: "done", run: "7", ...more });
  const stored = { questions: ["a"], answers: [{ turn: "a", text: whole }] };

  function found(calls: readonly Call[], chat: Partial<FinalChat> = stored, windows: number[] = []) {
    const chats = [{ id: "s.chat", questions: [], answers: [], ...chat }];
    const around = windows.map((from) => ({ from, to: from + 1 }));
    return checkAnswers(chats, calls, around).map(({ figure, says }) => `${figure}: ${says}`);
  }

  it("passes readers that heard all of it, or its beginning where it was stopped or lost", () => {
    const part = partsOf("a").slice(0, 4).join("");
    const ends = ["stopped", "lost", "failed"].map((end, at) => follow(at, "a", { said: part, end, run: String(at) }));
    expect(found([done(10), done(20), ...ends, follow(30, "a", {}), follow(40, "a", { said: "" })])).toEqual([]);
  });

  it("counts readers that miss, repeat or mix up parts, and an end that comes too early", () => {
    const [first, second, third] = partsOf("a") as [string, string, string];
    for (const said of [first + third, first + second + second, second, wholeAnswer("b"), `${whole}${whole}`]) {
      expect(found([follow(0, "a", { said, end: "stopped", run: "7" })])).toHaveLength(1);
    }
    expect(found([done(0, { said: first })])).toEqual([expect.stringContaining('heard "[a-1]", and then "done"')]);
  });

  it("counts a run with two ends, but not what a process says of what it cannot read", () => {
    const other = (end: string) => [done(0), done(10, { end, said: "[a-1]" })];
    expect(found(other("lost"))).toEqual(["brokenRuns: the run 7 of turn a ended as done and as lost"]);
    expect(found(other("failed"))).toEqual([]);
    expect(found([done(0), done(10, { end: "lost", run: "8", said: "[a-1]" })])).toEqual([]);
  });

  it("counts what is done and is not stored, or stored twice, or stored as something else", () => {
    expect(found([done(0)], {})).toEqual(["brokenRuns: turn a is done, and stored is undefined"]);
    expect(found([done(0)], { ...stored, answers: [{ turn: "a", text: "[a-1]" }] })).toHaveLength(1);
    expect(found([done(0)], { ...stored, answers: [...stored.answers, ...stored.answers] })).toHaveLength(1);
    expect(found([done(0)], { ...stored, questions: ["a", "a"] })).toHaveLength(1);
    expect(found([], { answers: [{ turn: "a", text: "[a-1] 1" }] })).toHaveLength(1);
  });
});
