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

  it("lets messages with an unknown outcome stand there or not, but not twice", () => {
    const calls = [...puts, call(20, { turn: "c", count: 1, ok: false, told: Infinity })];
    expect(found("a:0-1 b:0-0", calls)).toEqual([]);
    expect(found("a:0-1 b:0-0 c:0-0", calls)).toEqual([]);
    expect(found("a:0-1 b:0-0 c:0-0 c:0-0", calls)).toEqual(["[c-0] stands there twice"]);
  });

  it("counts checkpoints that cannot be read, in the end and by a client, and what a read lacks", () => {
    const read = (more: Partial<Call>) => [...puts, call(30, { do: "get", ...more })];
    expect(found("a:0-1 b:0-0", puts, ["damaged: …"])).toEqual(["damaged: …"]);
    expect(found("a:0-1 b:0-0", read({ answer: { runs: "a:0-1" } }))).toEqual(["[b-0] is missing, in a read at 30"]);
    expect(found("a:0-1 b:0-0", read({ ok: false, answer: { error: "damaged" } }))).toHaveLength(1);
    expect(found("a:0-1 b:0-0", read({ ok: false, answer: { error: "timeout" } }))).toEqual([]);
  });

  it("lets a thread that a failover may have set back lack messages, and nothing else", () => {
    expect(found("", puts, [], [12])).toEqual([]);
    expect(found("b:0-0", puts, [], [12])).toEqual([]);
    expect(found("a:0-1 a:1-1", puts, [], [12])).toEqual(["[a-1] stands there twice"]);
    expect(found("b:0-0 a:0-0", puts, [], [12])).toHaveLength(1);
    expect(found("", puts, ["damaged: …"], [12])).toEqual(["damaged: …"]);
    expect(found("a:0-1", [...puts.slice(0, 1), call(50, { turn: "b", count: 1 })], [], [70])).toEqual([]);
    expect(found("a:0-0", [call(50, { turn: "a", count: 2 })], [], [10])).toHaveLength(1);
  });
});
