import { checkThreads } from "../../tools/faults/checking/check-threads.js";
import type { Call } from "../../tools/faults/journal/read-journals.js";
import { readRuns } from "../../tools/faults/journal/runs.js";
import { at } from "./checked-runs.js";

const call = (asked: number, more: Partial<Call>) => at(asked, { thread: "t", do: "put", ...more });
const puts = [call(0, { turn: "a", count: 2 }), call(10, { turn: "b", count: 1 })];

function found(runs: string, calls: readonly Call[] = puts, errors: readonly string[] = [], windows: number[] = []) {
  const around = windows.map((from) => ({ from, to: from + 1 }));
  return checkThreads([{ id: "t", tokens: readRuns(runs), errors }], calls, around).map(({ says }) => says);
}

describe("The checker of threads", () => {
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
