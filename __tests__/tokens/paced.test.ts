import { setImmediate as turn } from "node:timers/promises";
import { runPaced } from "../../src/conversation/tokens/counters/paced.js";

/** Steps that take some milliseconds each; notes the turn of the event loop that each one ran in. */
function* slowSteps(count: number, note: () => void): Generator<undefined, number> {
  for (let step = 0; step < count; step += 1) {
    const end = performance.now() + 6;
    while (performance.now() < end);
    note();
    yield;
  }
  return count;
}

describe("runPaced", () => {
  beforeEach(() => turn());

  it("returns the result of little work at once", () => {
    expect(runPaced(slowSteps(0, () => undefined))).toBe(0);
  });

  it("lets the event loop turn after every other step of 6 ms, also when many run at once", async () => {
    let current = 0;
    let running = true;
    const ticking = (async () => {
      for (; running; current += 1) {
        await turn();
      }
    })();
    const perTurn = new Map<number, number>();
    const note = () => void perTurn.set(current, (perTurn.get(current) ?? 0) + 1);
    const results = await Promise.all([0, 1, 2].map(() => runPaced(slowSteps(4, note))));
    running = false;
    await ticking;
    expect(results).toEqual([4, 4, 4]);
    expect(Math.max(...perTurn.values())).toBeLessThanOrEqual(4);
    expect(perTurn.size).toBeGreaterThanOrEqual(3);
  });

  it("says so when a step fails, at once or later", async () => {
    function* failing(after: number): Generator<undefined, number> {
      yield* slowSteps(after, () => undefined);
      throw new Error("broken");
    }
    expect(() => runPaced(failing(0))).toThrow("broken");
    await expect(runPaced(failing(3))).rejects.toThrow("broken");
    expect(await runPaced(slowSteps(1, () => undefined))).toBe(1);
  });
});
