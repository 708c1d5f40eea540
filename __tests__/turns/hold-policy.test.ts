import { InMemorySessionStore } from "../../src/model/in-memory-session-store.js";
import type { SessionStore } from "../../src/store/session-store.js";
import { holdPolicy } from "../../src/turns/defaults.js";

describe("the option oneTurnAtATime", () => {
  const withoutHolds = { readView: () => undefined } as unknown as SessionStore;

  it("is on by default, with times that may be given", () => {
    const times = holdPolicy("agent", undefined, undefined)!;
    expect(times).toEqual({ ...times, isAsked: false });
    expect(holdPolicy("agent", true, new InMemorySessionStore())).toEqual({ ...times, isAsked: true });
    expect(holdPolicy("agent", { waitMs: 7 }, undefined)).toEqual({ ...times, waitMs: 7, isAsked: true });
    expect(holdPolicy("agent", false, withoutHolds)).toBeUndefined();
  });

  it("is refused on a store without holds only where it is given", () => {
    expect(holdPolicy("agent", undefined, withoutHolds)).toMatchObject({ isAsked: false });
    expect(() => holdPolicy("agent", true, withoutHolds)).toThrow("oneTurnAtATime");
    expect(holdPolicy("agent", true, undefined)).toMatchObject({ isAsked: true });
  });
});
