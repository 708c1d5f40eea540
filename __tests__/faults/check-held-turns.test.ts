import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import { at, figures, final } from "./checked-runs.js";

const steps = (turn: string, held: boolean) => at(0, { turn, count: 2, told: 90, ok: false, steps: true, held });
const found = (log: string, windows: FailoverWindow[] = []) =>
  figures([steps("a", true), steps("b", true), steps("c", false)], final(log), windows);

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
