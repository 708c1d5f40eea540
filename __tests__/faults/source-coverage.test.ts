import { Coverage } from "../../tools/faults/mutants/source-coverage.js";

const mutant = { id: "7", file: "src/a.ts", line: 1, column: 1, mutator: "", says: "" };
const test = (name: string, ms: number, ...ids: string[]) => ({
  name,
  ms,
  reached: Object.fromEntries(ids.map((id) => [id, 2])),
});

describe("The tests that are run for a mutant", () => {
  it("are those that reach it, of the files that pass without it", () => {
    const coverage = new Coverage([
      { file: "one", ms: 100, tests: [test("a", 10, "7"), test("b", 20, "8"), test("c", 30, "7")] },
      { file: "other", ms: 50, tests: [test("d", 10, "8")] },
      { file: "broken", failed: "why", ms: 50, tests: [test("e", 10, "7")] },
    ]);
    // Of 100 ms, 40 are spent around the tests.
    expect(coverage.planFor(mutant)).toEqual([{ file: "one", only: ["a", "c"], ms: 80, hits: 4 }]);
  });

  it("are all of a file whose modules or hooks reach it", () => {
    const coverage = new Coverage([{ file: "one", ms: 100, tests: [test("a", 10, "8")], reachedByAll: { 7: 3 } }]);
    expect(coverage.planFor(mutant)).toEqual([{ file: "one", only: undefined, ms: 100, hits: 3 }]);
  });

  it("begin with the quickest file, or with one that has noticed a change of the same source", () => {
    const coverage = new Coverage([100, 300, 200].map((ms) => ({ file: `of ${ms}`, ms, tests: [test("a", ms, "7")] })));
    const planned = () => coverage.planFor(mutant).map(({ file }) => file);
    expect(planned()).toEqual(["of 100", "of 200", "of 300"]);
    coverage.killed(mutant, "of 300");
    expect(planned()).toEqual(["of 300", "of 100", "of 200"]);
    coverage.killed({ ...mutant, file: "src/b.ts" }, "of 200");
    expect(planned()).toEqual(["of 300", "of 100", "of 200"]);
  });
});
