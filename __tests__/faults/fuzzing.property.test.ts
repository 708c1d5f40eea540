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

  it.each(Object.keys(targets))("refuse what is nested too deeply, wherever it stands: %s", async (name) => {
    for (const levels of [5_000, 20_000]) {
      const deep = "[".repeat(levels) + "]".repeat(levels);
      for (const seed of seeds[name]!) {
        for (const { index, 0: value } of seed.matchAll(/(?<=:)("[^"]*"|\d+|true|false|null)/g)) {
          await read(name, seed.slice(0, index) + deep + seed.slice(index + value.length));
        }
      }
    }
  });
});
