import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { append, at, final, findings } from "./checked-runs.js";

const fork = (asked: number, more: Partial<Call> = {}) => at(asked, { do: "fork", into: "copy", ...more });
const copy = (log: string) => final(log, { id: "copy" });
const found = (calls: Call[], made: FinalSession, windows: FailoverWindow[] = [], discarded = 0) => {
  const sessions = [final("a:0-1 b:0-1 c:0-1", { discarded }), made];
  return findings(calls, sessions, windows).flatMap(({ session, figure }) => (session === "copy" ? [figure] : []));
};

describe("The checker of copies", () => {
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
