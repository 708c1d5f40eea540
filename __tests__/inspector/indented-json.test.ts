import fc from "fast-check";
import { indentedJson } from "../../cli/inspector/server/indented-json.js";

describe("JSON of a tool's answer", () => {
  it("is laid out as JSON.stringify does it, whatever stood between its values", () => {
    const property = fc.property(
      fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue())),
      fc.constantFrom(undefined, 1, "\t"),
      (value, space) => {
        expect(indentedJson(JSON.stringify(value, undefined, space))).toBe(JSON.stringify(value, undefined, 2));
      },
    );
    fc.assert(property);
  });

  it("keeps numbers as they are written, and leaves other texts and very long ones alone", () => {
    expect(indentedJson('[12345678901234567890,1.10,1e999,"a, b: {\\"c"]')).toBe(
      '[\n  12345678901234567890,\n  1.10,\n  1e999,\n  "a, b: {\\"c"\n]',
    );
    const others = ["", "12", '"text"', "[not JSON]", "{a: 1}", `["${"x".repeat(200_000)}"]`];
    expect(others.map(indentedJson)).toEqual(others.map(() => undefined));
    const deep = "[".repeat(2_000) + "]".repeat(2_000);
    expect(indentedJson(deep)!.length).toBeLessThan(400_000);
  });
});
