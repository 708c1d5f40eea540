import { checkRun } from "../../tools/faults/checking/check-run.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";

const at = (asked: number, more: Partial<Call>): Call => {
  return { client: "0-0", session: "s", do: "append", asked, told: asked + 5, ok: true, answer: {}, ...more };
};
const append = (asked: number, turn: string, more: Partial<Call> = {}) => at(asked, { turn, count: 2, ...more });
const fork = (asked: number, more: Partial<Call> = {}) => at(asked, { do: "fork", into: "copy", ...more });
const final = (id: string, log: string, more: Partial<FinalSession> = {}): FinalSession => {
  const tokens = readRuns(log);
  return { id, log: tokens, view: { start: 0, head: [], covered: [], tokens, issues: [] }, damaged: false, ...more };
};

function found(
  calls: Call[],
  copy: FinalSession,
  windows = [] as { from: number; to: number }[],
  discarded = 0,
): string[] {
  const source = final("s", "a:0-1 b:0-1 c:0-1", { discarded });
  const { findings } = checkRun({ calls, sessions: [source, copy], windows });
  return findings.filter(({ session }) => session === "copy").map(({ figure }) => figure);
}

describe("The checker of copies", () => {
  const calls = [append(0, "a"), append(10, "b"), append(40, "c")];

  it("finds nothing in a copy of what stood there at one moment of the call", () => {
    expect(found([...calls, fork(20)], final("copy", "a:0-1 b:0-1"))).toEqual([]);
    for (const log of ["a:0-1 b:0-1", "a:0-1 b:0-1 c:0-1"]) {
      expect(found([...calls, fork(42)], final("copy", log))).toEqual([]);
    }
  });

  it("counts copies that lack an acknowledged turn, tear one, change the order or hold a later one", () => {
    for (const log of ["a:0-1", "", "a:0-1 b:0-0", "b:0-1 a:0-1", "a:0-1 b:0-1 c:0-1", "a:0-1 b:0-1 b:0-1"]) {
      expect(found([...calls, fork(20)], final("copy", log))).toContain("wrongForks");
    }
  });

  it("takes the beginning of a session that was asked for, at its exact length", () => {
    expect(found([...calls, fork(20, { upTo: 3 })], final("copy", "a:0-1 b:0-0"))).toEqual([]);
    expect(found([...calls, fork(20, { upTo: 3 })], final("copy", "a:0-1"))).toEqual(["wrongForks"]);
  });

  it("takes nothing for the copy of a beginning that was discarded", () => {
    const beginning = [...calls, fork(20, { upTo: 3 })];
    expect(found(beginning, final("copy", ""), [], 4)).toEqual([]);
    expect(found(beginning, final("copy", ""), [], 2)).toEqual(["wrongForks"]);
  });

  it("lets a call that failed leave none, or the whole, and nothing in between", () => {
    const failed = fork(20, { ok: false, told: Infinity });
    expect(found([...calls, failed], final("copy", ""))).toEqual([]);
    expect(found([...calls, failed], final("copy", "a:0-1 b:0-1"))).toEqual([]);
    expect(found([...calls, failed], final("copy", "a:0-1"))).toEqual(["wrongForks"]);
  });

  it("counts reads that showed a part of a copy", () => {
    const read = (runs: string) => at(22, { do: "transcript", session: "copy", answer: { runs } });
    expect(found([...calls, fork(20), read(""), read("a:0-1 b:0-1")], final("copy", "a:0-1 b:0-1"))).toEqual([]);
    expect(found([...calls, fork(20), read("a:0-1")], final("copy", "a:0-1 b:0-1"))).toEqual(["wrongForks"]);
  });

  it("allows what a removal during the call may have taken, and a failover", () => {
    const clear = at(21, { do: "clear" });
    expect(found([...calls, clear, fork(20)], final("copy", ""))).toEqual([]);
    expect(found([...calls, fork(20)], final("copy", "a:0-1"), [{ from: 22, to: 23 }])).toEqual([]);
  });
});
