import { StartCache } from "../../src/store/start-cache.js";

describe("StartCache", () => {
  it("remembers ten thousand sessions and lets the longest unused go", () => {
    const cache = new StartCache();
    for (let index = 0; index < 10_000; index += 1) {
      cache.set(`s${index}`, { base: 0, start: index });
    }
    expect(cache.get("s0")).toEqual({ base: 0, start: 0 });
    cache.set("one more", { base: 1, start: 2 });
    expect(cache.get("s1")).toBeUndefined();
    expect(cache.get("s0")).toEqual({ base: 0, start: 0 });
    expect(cache.get("one more")).toEqual({ base: 1, start: 2 });
  });

  it("forgets what it is told to forget", () => {
    const cache = new StartCache();
    cache.set("s", { base: 0, start: 1 });
    cache.delete("s");
    expect(cache.get("s")).toBeUndefined();
  });
});
