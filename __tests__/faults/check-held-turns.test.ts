import { checkRun } from "../../tools/faults/checking/check-run.js";
import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";

const held = (turn: string): Call => {
  const told = { asked: 0, told: 90, ok: false, answer: {} };
  return { client: "0-0", session: "s", do: "append", turn, count: 2, steps: true, held: true, ...told };
};

function found(log: string, windows: FailoverWindow[] = []): string[] {
  const tokens = readRuns(log);
  const view = { start: 0, head: [], covered: [], tokens, issues: [] };
  const other: Call = { ...held("c"), held: false };
  const sessions = [{ id: "s", log: tokens, view, damaged: false }];
  return checkRun({ calls: [held("a"), held("b"), other], sessions, windows }).findings.map(({ figure }) => figure);
}

describe("The checker of turns that hold their session", () => {
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
