import fc from "fast-check";
import { jsonText, sameAsJson } from "../../src/base/json-text.js";

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

describe("values with the same JSON", () => {
  /** The value with the keys of all objects in the opposite order. */
  const reversed = (value: unknown): unknown =>
    Array.isArray(value)
      ? value.map(reversed)
      : typeof value === "object" && value !== null
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, inner]) => [key, reversed(inner)]),
          )
        : value;

  it("are the same whatever the order of keys", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => sameAsJson(value, reversed(value))));
  });

  it("are told from others, also of the same length", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
        const isSame = fc.stringify(JSON.parse(JSON.stringify(a))) === fc.stringify(JSON.parse(JSON.stringify(b)));
        return sameAsJson(a, b) || !isSame;
      }),
    );
    expect(sameAsJson({ a: 1, b: 2 }, { a: 2, b: 1 })).toBe(false);
    expect(sameAsJson([1, 2], [2, 1])).toBe(false);
    expect(sameAsJson(new Date(0), new Date(1))).toBe(false);
  });

  it("are compared without an error where they are nested deep, or have no JSON", () => {
    const deep = (inner: string) => JSON.parse(`${"[".repeat(4_000)}${inner}${"]".repeat(4_000)}`) as unknown;
    expect(sameAsJson(deep('{"a":1,"b":2}'), deep('{"a":1,"b":2}'))).toBe(true);
    expect(sameAsJson(deep("1"), deep("2"))).toBe(false);
    const loop: unknown[] = [];
    loop.push(loop);
    expect(sameAsJson(loop, [1])).toBe(false);
  });
});
