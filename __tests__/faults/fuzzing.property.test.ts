import fc from "fast-check";
import { inputsFrom } from "../../tools/faults/fuzzing/inputs.js";
import { seeds } from "../../tools/faults/fuzzing/seeds.js";
import { read, targets } from "../../tools/faults/fuzzing/targets.js";

describe("Readers of what others wrote", () => {
  it.each(Object.keys(targets))("refuse by the package's errors only: %s", async (name) => {
    expect(seeds[name]!.length).toBeGreaterThan(0);
    await fc.assert(
      fc.asyncProperty(inputsFrom(name), async (text) => read(name, text)),
      { numRuns: 300 },
    );
  });
});
