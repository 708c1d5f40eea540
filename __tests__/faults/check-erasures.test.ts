import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { append as appendOf, at, figures, final } from "./checked-runs.js";

const append = (asked: number, turn: string, more: Partial<Call> = {}) =>
  appendOf(asked, turn, { owner: "ann", ...more });
/** From 20 to 25, guarded until 10,020. */
const erase = (more: Partial<Call> = {}) => at(20, { do: "erase", owner: "ann", guardMs: 10, ...more });
const refused = (asked: number, turn: string) => append(asked, turn, { ok: false, answer: { error: "erased" } });
const found = (calls: Call[], log = "", keys = 0, windows: FailoverWindow[] = []) =>
  figures(calls, final(log, { keys }), windows);

describe("The checker of erasures", () => {
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
