import fc from "fast-check";
import { seeds } from "./seeds.js";

/** Words of JSON, of records, of keys of objects, and numbers at which readers may count wrongly. */
export const words = [
  ...['"', "{", "}", "[", "]", ":", ",", "null", "true", "[]", "{}", '""', "\\", "\\u0000", "\u0000", "\n", "\ud800"],
  ...["-1", "0", "1e999", "9007199254740993", "99999999999999999999", "0.5", "@", "+", "-", "|", "NaN"],
  ...[
    '"__proto__":',
    '"constructor":',
    '"toString":',
    '"length":',
    '"id":',
    '"type":',
    '"data":',
    '"meta":',
    '"lc":1,',
  ],
  ...['"content":', '"kwargs":', '"tool_calls":', '"$lcmem":', '"sealed":', '"v":2', '"messages":', '"human"', '"ai"'],
] as const;

type Edit = readonly [
  kind: "leave out" | "repeat" | "insert" | "move" | "nest",
  at: number,
  length: number,
  word: string,
];

const edit: fc.Arbitrary<Edit> = fc.tuple(
  fc.constantFrom("leave out", "repeat", "insert", "insert", "move", "nest"),
  fc.nat(300),
  fc.integer({ min: 1, max: 40 }),
  fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 3 })),
);

/** Inputs for a reader: its sound ones, changed in a few places, JSON of any form, and any text. */
export function inputsFrom(target: string): fc.Arbitrary<string> {
  const sound = fc.constantFrom(...(seeds[target] ?? [""]));
  const changed = fc
    .tuple(sound, fc.array(edit, { maxLength: 6 }))
    .map(([text, edits]) => edits.reduce((result, one) => changedBy(result, one), text));
  return fc.oneof({ arbitrary: changed, weight: 8 }, fc.json(), fc.string({ unit: "binary" }));
}

function changedBy(text: string, [kind, place, length, word]: Edit): string {
  const at = text.length === 0 ? 0 : place % text.length;
  const [before, part, after] = [text.slice(0, at), text.slice(at, at + length), text.slice(at + length)];
  switch (kind) {
    case "leave out":
      return before + after;
    case "repeat":
      return before + part.repeat(length) + after;
    case "insert":
      return before + word + part + after;
    case "move":
      return after + before + part;
    case "nest":
      return before + "[".repeat(length * 100) + part + "]".repeat(length * 100) + after;
  }
}
