import { refusalFrom } from "../../src/store/refusals.js";
import { appendResult } from "../../src/redis-store/append-call.js";

describe("appendResult", () => {
  const plan = { records: [], indexes: [], conflicts: [], duplicates: 0, counter: undefined };
  const resultOf = (reply: unknown) => () => appendResult("s", { reply, request: { records: [] }, plan });

  it.each([["NEWS"], [[]], [["ok", 1]], [null], ["OK"], [7], [[null]]])(
    "does not claim that nothing was written for the reply %j, which no script gives",
    (reply) => {
      expect(resultOf(reply)).toThrow(
        expect.objectContaining({
          name: "StoreError",
          code: "script_failed",
          operation: "append",
          message: expect.stringContaining("the outcome is unknown"),
        }),
      );
    },
  );
});

describe("refusalFrom", () => {
  it.each([
    ["ERASED", "erased"],
    ["OWNER", "other_owner"],
    ["DAMAGED", "damaged"],
    ["KEY", "unknown_key"],
    ["EPOCH", "epoch"],
    ["FENCED", "fenced"],
    ["EXISTS", "exists"],
  ])("makes the error of %s", (word, code) => {
    const refused = { operation: "append", sessionId: "s" };
    expect(refusalFrom(word, "k1.AAAAAAAA", refused)).toMatchObject({ code, sessionId: "s" });
  });

  it.each(["OK", "TURN", "damaged", "", undefined])("knows no refusal in %j", (word) => {
    expect(refusalFrom(word, "", { operation: "append", sessionId: "s" })).toBeUndefined();
  });
});
