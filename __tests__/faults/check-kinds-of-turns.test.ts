import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { FinalSession } from "../../tools/faults/checking/session-case.js";
import { coverageOf } from "../../tools/faults/journal/coverage.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";
import { amounts, append, at, final } from "./checked-runs.js";

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
