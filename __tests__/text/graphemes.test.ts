import fc from "fast-check";
import { graphemeBoundary } from "../../src/base/graphemes.js";
import { forAll } from "../support/property-runs.js";

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

describe("graphemeBoundary", () => {
  it.each([
    ["plain text", "hello", 3, 3],
    ["an accent of its own", "ne\u0301e", 2, 1],
    ["a surrogate pair", "a👍b", 2, 1],
    ["a flag among flags", "🇩🇪🇫🇷🇯🇵", 6, 4],
    ["a family", "x👩‍👩‍👧‍👦y", 5, 1],
    ["a line end", "a\r\nb", 2, 1],
    ["a length beyond the text", "abc", 9, 3],
    ["a negative length", "abc", -1, 0],
  ])("cuts before %s and not inside", (_, text, length, expected) => {
    expect(graphemeBoundary(text, length)).toBe(expected);
  });

  it("is the last grapheme boundary up to the length", () =>
    forAll(1000, fc.tuple(fc.string({ unit: "grapheme", maxLength: 60 }), fc.nat(200)), ([text, length]) => {
      const boundaries = [...segmenter.segment(text)].map(({ index }) => index).concat(text.length);
      expect(graphemeBoundary(text, length)).toBe(boundaries.findLast((index) => index <= length));
    }));

  it("cuts endless runs of combining marks and flags between code points", () => {
    const marks = "e" + "\u0301".repeat(1_000_000);
    expect(graphemeBoundary(marks, 500_000)).toBe(500_000);
    const flags = "🇩🇪".repeat(100_000);
    expect(graphemeBoundary(flags, 199_999) % 2).toBe(0);
  });
});
