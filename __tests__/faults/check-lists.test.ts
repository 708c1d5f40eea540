import { checkLists } from "../../tools/faults/checking/check-lists.js";
import type { FailoverWindow } from "../../tools/faults/checking/failover-windows.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { at, final } from "./checked-runs.js";

const found = (calls: Call[], listed: string[], windows: FailoverWindow[] = []) => {
  const about = { sessions: [final("")], callsOf: () => calls, windows };
  return checkLists([{ owner: "ann", sessions: listed }], about).map(({ figure }) => figure);
};

describe("The checker of lists", () => {
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
