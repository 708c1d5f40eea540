import { BoundedMap } from "../src/base/bounded-map.js";

describe("a bounded map", () => {
  it("holds no more than its capacity, the newest entries", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("c", 3);
    expect([...map]).toEqual([
      ["b", 2],
      ["c", 3],
    ]);
  });

  it("takes an entry that is set again for the newest", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
    expect([...map.keys()]).toEqual(["a", "c"]);
    expect(map.get("a")).toBe(3);
  });
});
