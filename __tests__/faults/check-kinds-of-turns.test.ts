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

  it("may have others inside, and end early where they failed", () => {
    expect(found([step(), append(10, "b")], "a:0-0 b:0-1 a:1-3")).toEqual({});
    expect(found([step({ ok: false }), append(10, "b")], "a:0-0 b:0-1")).toEqual({});
  });

  it("are counted where a step is missing, stands twice or in another order", () => {
    expect(found([step()], "a:0-2")).toEqual({ lost: 1 });
    expect(found([step({ ok: false })], "a:1-2")).toEqual({ torn: 1 });
    expect(found([step()], "a:0-0 a:2-3 a:1-1")).toEqual({ torn: 1 });
    expect(found([step()], "a:0-1 a:1-3")).toEqual({ doubled: 1 });
  });

  it("may lack a step that a failover lost, unless each step waited for a replica", () => {
    const windows = [{ from: 20, to: 30 }];
    expect(found([step()], "a:2-3", { windows })).toEqual({ failoverLoss: 2 });
    expect(found([step({ ok: false })], "a:2-3", { windows })).toEqual({});
    expect(found([step({ ok: false, waits: true })], "a:2-3", { windows })).toEqual({ torn: 1 });
    expect(found([step({ ok: false })], "a:2-3", { windows: [{ from: 60, to: 70 }] })).toEqual({ torn: 1 });
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

  it("may lack what is older than the beginning of the log, and a part of a turn there", () => {
    expect(found(calls, "c:0-1", { discarded: 4 })).toEqual({});
    expect(found(calls, "b:1-1 c:0-1", { discarded: 3 })).toEqual({});
  });

  it("are counted where anything else is missing", () => {
    expect(found(calls, "a:0-1 c:0-1", { discarded: 2 })).toEqual({ lost: 2 });
    expect(found(calls, "a:0-1 b:0-0 c:0-1", { discarded: 2 })).toMatchObject({ torn: 1 });
  });

  it("may lack the beginning of a turn that was written step by step, behind others that came meanwhile", () => {
    const step = append(0, "a", { count: 4, steps: true, told: 50 });
    const later = [step, append(10, "b"), append(20, "c")];
    expect(found(later, "c:0-1 a:1-3", { discarded: 3 })).toEqual({});
    expect(found(later, "b:0-1 c:0-1 a:2-2", { discarded: 1 })).toEqual({});
    expect(found([append(0, "b"), { ...step, asked: 10 }], "b:0-1 a:2-2", { discarded: 1 })).toMatchObject({ torn: 1 });
    expect(found(later, "c:0-1 a:1-1 a:3-3", { discarded: 3 })).toEqual({ torn: 1 });
  });

  it("are counted where a discarded turn was stored again", () => {
    expect(found(calls, "c:0-1 a:0-1", { discarded: 4 })).toMatchObject({ doubled: 2, reordered: 1 });
  });

  it("may have stored the steps of a failed try twice, where the turn was done again without its question", () => {
    const step = (asked: number, ok: boolean) => append(asked, "a", { count: 4, steps: true, ok });
    const tries = [step(0, false), append(10, "b"), step(20, true)];
    expect(found(tries, "b:1-1 a:1-3", { discarded: 4 })).toEqual({});
    expect(found(tries, "b:1-1 a:0-3", { discarded: 4 })).toMatchObject({ doubled: 3 });
    expect(found(tries, "b:1-1 a:1-3", { discarded: 6 })).toMatchObject({ doubled: 1 });
    expect(found([step(0, true), append(10, "b"), step(20, false)], "b:1-1 a:1-3", { discarded: 4 })).toMatchObject({
      doubled: 2,
    });
  });

  it("are checked for how many messages a summary stands for", () => {
    const tokens = readRuns("c:0-1");
    const view = { start: 0, head: [], tokens, issues: [], covered: [coverageOf(readRuns("a:0-1 b:0-1"))] };
    expect(found(calls, "c:0-1", { discarded: 4, view })).toEqual({});
    expect(found(calls, "c:0-1", { discarded: 3, view })).toEqual({ wrongSummaries: 1 });
  });
});
