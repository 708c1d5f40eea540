import fc from "fast-check";
import { BoundedMap } from "../src/base/bounds.js";
import { propertyRuns } from "./support/property-runs.js";

describe("a bounded map", () => {
  it("holds no more than its capacity, the newest entries", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("c", 3);
    expect([...map]).toEqual([
      ["b", 2],
      ["c", 3],
    ]);
  });

  const commands = fc.array(
    fc.oneof(
      { weight: 8, arbitrary: fc.tuple(fc.constant("set"), fc.nat(9), fc.nat(20)) },
      { weight: 2, arbitrary: fc.tuple(fc.constant("delete"), fc.nat(9), fc.constant(0)) },
      { weight: 1, arbitrary: fc.constant(["clear", 0, 0] as const) },
    ),
    { maxLength: 40 },
  );
  it("weighs what it holds, the newest entries, whatever is set, deleted and cleared", () => {
    const property = fc.property(commands, (list) => {
      const [map, newest] = [new BoundedMap<number, number>(16, (weight) => weight), new Map<number, number>()];
      for (const [command, key, weight] of list) {
        newest.delete(key);
        if (command === "set") {
          map.set(key, weight);
          newest.set(key, weight);
        } else if (command === "delete") {
          map.delete(key);
        } else {
          map.clear();
          newest.clear();
        }
        const held = [...map];
        expect(held).toEqual(
          [...newest].filter(([, each]) => each <= 16).slice(held.length === 0 ? Infinity : -held.length),
        );
        expect(map.weight).toBe(held.reduce((sum, [, each]) => sum + each, 0));
        expect(map.weight).toBeLessThanOrEqual(16);
      }
    });
    fc.assert(property, { numRuns: propertyRuns(200) });
  });
});
