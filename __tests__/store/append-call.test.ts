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

  it("calls a session damaged only where the script says so", () => {
    expect(resultOf(["DAMAGED"])).toThrow(expect.objectContaining({ code: "damaged" }));
  });
});
