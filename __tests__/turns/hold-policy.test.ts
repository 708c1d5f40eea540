import { holdPolicy } from "../../src/memory/turns/defaults.js";

it("the option oneTurnAtATime is on by default, with times that may be given", () => {
  const times = holdPolicy(undefined)!;
  expect(times).toEqual({ ...times, isAsked: false });
  expect(holdPolicy(true)).toEqual({ ...times, isAsked: true });
  expect(holdPolicy({ waitMs: 7 })).toEqual({ ...times, waitMs: 7, isAsked: true });
  expect(holdPolicy(false)).toBeUndefined();
});
