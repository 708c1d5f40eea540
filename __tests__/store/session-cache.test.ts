import { SessionCache } from "../../src/store/redis-store/redis-session-store.js";

describe("SessionCache", () => {
  it("remembers ten thousand sessions and drops those noted longest ago", () => {
    const cache = new SessionCache();
    for (let index = 0; index < 10_000; index += 1) {
      cache.note(`s${index}`, index, { base: 0, start: 0 });
    }
    cache.note("s0", 7);
    cache.note("one more", 5, { base: 1, start: 2 });
    expect(cache.get("s1251")).toBeUndefined();
    expect(cache.get("s1252")).toBeDefined();
    expect(cache.get("s0")).toEqual({ next: 7, view: { base: 0, start: 0 } });
    expect(cache.get("one more")).toEqual({ next: 5, view: { base: 1, start: 2 } });
  });

  it("forgets a session on request", () => {
    const cache = new SessionCache();
    cache.note("s", 1, { base: 0, start: 1 });
    cache.delete("s");
    expect(cache.get("s")).toBeUndefined();
  });

  it("keeps the known start if only the end is seen again, and stores only positions of a view", () => {
    const cache = new SessionCache();
    cache.note("s", 3);
    expect(cache.get("s")).toEqual({ next: 3, view: undefined });
    const view = { base: 0, start: 2, records: ["long"] };
    cache.note("s", 4, view);
    cache.note("s", 6);
    expect(cache.get("s")).toEqual({ next: 6, view: { base: 0, start: 2 } });
  });
});
