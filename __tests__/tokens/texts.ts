import fc from "fast-check";

/**
 * Characters that the patterns of the encodings treat differently, and neighbours that tempt a splitter to go wrong.
 */
const telling = [
  ..."aAbBsStTmMdDrReEvVlL'’ 019/!.,-_=({\"\t\n\r",
  ...[
    "\u00a0",
    "\u2028",
    "\ufeff",
    "é",
    "É",
    "ß",
    "ǅ",
    "ʰ",
    "א",
    "你",
    "가",
    "\u0301",
    "\u0915\u093f",
    "٣",
    "Ⅷ",
    "½",
    "👍",
    "👍🏽",
    "🏖️",
    "𝒜",
    "𐐨",
    "𠮷",
  ],
  ...["\ud83d", "\udc4d", "\0", "<|endoftext|>", "'re", "'LL", "\r\n"],
];

/** Short texts of every kind: any Unicode, lone surrogates, runs, and dense mixtures of the characters above. */
export const anyText = fc.oneof(
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ maxLength: 120 }),
  fc.array(fc.constantFrom(...telling), { maxLength: 60 }).map((parts) => parts.join("")),
  fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
  fc
    .array(fc.tuple(fc.constantFrom(...telling), fc.nat({ max: 9 })), { maxLength: 8 })
    .map((runs) => runs.map(([text, times]) => text.repeat(times)).join("")),
);
