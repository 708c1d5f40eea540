import fc from "fast-check";
import { splitCl100k, splitO200k, type Splitter } from "../../src/conversation/tokens/encoder/split.js";
import { referencePieces } from "./reference.js";
import { anyText } from "./texts.js";
import { propertyRuns } from "../support/property-runs.js";

describe.each([
  ["o200k_base", splitO200k],
  ["cl100k_base", splitCl100k],
] as const)("the pieces of %s", (encoding, split) => {
  it("are those of the encoding's published pattern", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(pieces(split, text)).toEqual(referencePieces(encoding, text));
      }),
      { numRuns: propertyRuns(1000) },
    );
  });

  it.each([
    "don't STOP'LL we'VE",
    "ʰAAAA b",
    "ʰAʰAAb",
    "  x \n y\n\n  ",
    "HTTPServer ÀÉîô",
    "a\u0301'Re",
    "!!\n/\r\n//x",
    "１２３４ 12345",
    " \u0301x",
  ])("are those of the pattern in %j", (text) => {
    expect(pieces(split, text)).toEqual(referencePieces(encoding, text));
  });

  it.each(["a", "A", "ʰA", " ", "\n", " \n", "!", "1", "你", "👍", "!\n", "\u0301", "'", "'s"])(
    "cover a run of half a million times %j without a gap",
    (text) => {
      const run = text.repeat(500_000 / text.length);
      let end = 0;
      for (let start = 0; start < run.length; start = end) {
        end = split(run, start);
        if (end <= start) {
          throw new Error(`The splitter stands still at ${start}.`);
        }
      }
      expect(end).toBe(run.length);
    },
  );
});

function pieces(split: Splitter, text: string): string[] {
  const found: string[] = [];
  for (let start = 0; start < text.length;) {
    const end = split(text, start);
    found.push(text.slice(start, end));
    start = end;
  }
  return found;
}
