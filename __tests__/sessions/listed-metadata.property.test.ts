import fc from "fast-check";
import { labelOf } from "../../src/session/labels.js";

const metadata = fc.dictionary(
  fc.string({ unit: fc.constantFrom("k", "é", '"', "😀"), minLength: 1, maxLength: 8 }),
  fc.oneof(fc.string({ unit: fc.constantFrom("v", "é", "\n"), maxLength: 600 }), fc.integer(), fc.constant(null)),
  { minKeys: 1, maxKeys: 12 },
);
const bytesOf = (value: object) => Buffer.byteLength(JSON.stringify(value));

/** The most first keys whose JSON has at most 1,024 bytes. */
function firstKeys(whole: object): object {
  const entries = Object.entries(whole);
  const counts = [...entries.keys(), entries.length].reverse();
  return counts.map((count) => Object.fromEntries(entries.slice(0, count))).find((part) => bytesOf(part) <= 1_024)!;
}

describe("metadata in a list of sessions", () => {
  it("is the longest run of first keys that has at most 1,024 bytes as JSON", () => {
    fc.assert(
      fc.property(metadata, (whole) => {
        const { metadata: stored, listed } = labelOf("test", { metadata: whole });
        expect(JSON.parse(stored!)).toEqual(whole);
        expect(listed === undefined ? whole : JSON.parse(listed)).toEqual(firstKeys(whole));
      }),
    );
  });

  it.each([1_023, 1_024, 1_025])("keeps a last key with which it has %i bytes only up to 1,024", (bytes) => {
    const kept = { a: 1, b: "v".repeat(bytes - bytesOf({ a: 1, b: "" })) };
    const { listed } = labelOf("test", { metadata: { ...kept, more: "v".repeat(2_000) } });
    expect(JSON.parse(listed!)).toEqual(bytes <= 1_024 ? kept : { a: 1 });
  });
});
