import { jsonText } from "../../src/base/json-text.js";

describe("the JSON of a value", () => {
  it("is what JSON.stringify writes", () => {
    for (const value of ["text", 7, null, [1, { a: [] }], { at: new Date(0), none: undefined }, undefined]) {
      expect(jsonText(value)).toBe(JSON.stringify(value));
    }
  });

  it("holds big integers as digits, and is undefined if there is none", () => {
    expect(jsonText({ size: 12n, list: [3n] })).toBe('{"size":"12","list":["3"]}');
    const loop: Record<string, unknown> = { size: 12n };
    loop["self"] = loop;
    expect(jsonText(loop)).toBeUndefined();
    expect(jsonText(() => 1)).toBeUndefined();
    expect(jsonText({ toJSON: () => { throw new Error("no"); } })).toBeUndefined(); // prettier-ignore
  });
});
