import fc from "fast-check";
import { jsonLevels, type JsonLine } from "../../cli/inspector/model/json-levels.js";
import { indentedJson } from "../../cli/inspector/server/indented-json.js";

/** The lines again, with their indents. */
function written(lines: readonly JsonLine[], indent = ""): string[] {
  return lines.flatMap((line) =>
    line.kind === "value"
      ? [indent + line.text]
      : [
          indent + line.open,
          ...written(line.inside, `${indent}  `),
          ...(line.close === undefined ? [] : [indent + line.close]),
        ],
  );
}

/** How many lines stand inside the levels, as they say. */
function counted(lines: readonly JsonLine[]): number {
  return lines.reduce((sum, line) => sum + (line.kind === "value" ? 1 : line.lines + (line.close ? 2 : 1)), 0);
}

const container = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));

describe("levels of laid-out JSON", () => {
  it("hold every line once, in order and at its depth, also of the beginning of a text", () => {
    const property = fc.property(container, fc.nat(400), (value, cut) => {
      const text = JSON.stringify(value, undefined, 2);
      expect(written(jsonLevels(text)).join("\n")).toBe(text);
      const begun = text.slice(0, cut);
      const lines = begun.split("\n").map((line) => line.trim());
      expect(written(jsonLevels(begun)).map((line) => line.trim())).toEqual(lines);
      expect(counted(jsonLevels(begun))).toBe(lines.length);
    });
    fc.assert(property);
  });

  it("are made of a text of any depth", () => {
    const depth = 50_000;
    const deep = indentedJson("[".repeat(depth) + "]".repeat(depth))!;
    const [outermost, ...others] = jsonLevels(deep);
    expect(others).toEqual([]);
    expect(outermost).toMatchObject({ kind: "level", open: "[", close: "]", lines: deep.split("\n").length - 2 });
    const values = JSON.stringify(
      Array.from({ length: 20_000 }, (_, index) => index),
      undefined,
      2,
    );
    expect(jsonLevels(values)).toMatchObject([{ kind: "level", lines: 20_000 }]);
  });
});
