import fc from "fast-check";
import { groupsOf } from "../../tools/faults/fuzzing/guided/fuzz-guided.js";
import { inputFor, readerOf } from "../../tools/faults/fuzzing/guided/input.js";
import { groups, targets } from "../../tools/faults/fuzzing/targets.js";

describe("Fuzzing that is guided by coverage", () => {
  it("has each reader in one group, with those that wait in a group of their own", () => {
    const all = groupsOf(groups);
    expect(all.flatMap(({ names }) => names).sort()).toEqual(Object.keys(targets).sort());
    expect(all.find(({ waits }) => waits)?.names).toContain("session-export");
  });

  it("hands a text to the reader for which its input was made, and any input to some reader", () => {
    const names = Object.keys(targets);
    const text = fc.string({ unit: "grapheme" });
    fc.assert(
      fc.property(fc.constantFrom(...names), text, fc.uint8Array(), (name, given, bytes) => {
        expect(readerOf(inputFor(name, given, names), names)).toEqual({ name, text: given });
        expect(names).toContain(readerOf(Buffer.from(bytes), names).name);
      }),
    );
  });
});
