import { timeLeft } from "../../cli/figures.js";

describe("the time that is left", () => {
  it.each([
    ["?", 0, 0],
    ["?", 999, 500],
    ["?", 60_000, 0],
    ["1 s", 1_000, 500],
    ["1 min 30 s", 10_000, 100],
    ["2 h 46 min", 10_000, 1],
    ["0 s", 5_000, 1_000],
    ["0 s", 5_000, 1_001],
  ])("is %s after %d ms and %d of 1,000", (left, elapsed, done) => {
    expect(timeLeft(elapsed, { done, total: 1_000 })).toBe(left);
  });
});
