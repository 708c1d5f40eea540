import { isResent } from "../../src/store/contract/append-decision.js";
import { refusalFrom } from "../../src/store/contract/refusals.js";
import { appendResult } from "../../src/store/redis-store/append-call.js";

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
  it("names the data key that a session has, and the master key that wrapped it", () => {
    const refused = { operation: "append", sessionId: "s" };
    expect(refusalFrom("KEY", "AAAAAAAA team.2026 plain wrapped", refused)).toMatchObject({
      keyId: "team.2026",
      stored: { key: "AAAAAAAA team.2026 plain", dek: "wrapped" },
      message: expect.stringContaining('with the key "team.2026",') as string,
    });
    expect(refusalFrom("KEY", " ", refused)).toMatchObject({ code: "unknown_key", stored: undefined });
  });
});

describe("an append is told for one that was sent again", () => {
  const records = (text: string) =>
    text.split(" ").flatMap((word) => (word === "" ? [] : [{ id: word[0]!, digest: word, record: "" }]));

  it.each([
    ["a1 b1", "a1 b1", true],
    ["a1", "a1 b1", false],
    ["a1 b1", "a1", false],
    ["a1 b1", "a1 b2", false],
    ["a1 b1", "c1 b1", false],
    ["", "", false],
  ])("where %j ends the log and %j is sent: %p", (last, own, isAgain) => {
    expect(isResent(records(last), records(own))).toBe(isAgain);
  });

  it("not where a record at the end of the log cannot be read, or has another id with the same text", () => {
    const [record] = records("a1");
    expect(isResent([undefined], [record!])).toBe(false);
    expect(isResent([{ ...record!, id: "z" }], [record!])).toBe(false);
  });
});
