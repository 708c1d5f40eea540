import fc from "fast-check";
import { BlockMerge } from "../../src/conversation/tokens/encoder/byte-pair-merge.js";
import { encodings, loadTally, type EncodingName } from "../../src/conversation/tokens/encoder/encodings.js";
import { Vocabulary, type PackedRanks } from "../../src/conversation/tokens/encoder/vocabulary.js";
import { referenceCount } from "./reference.js";
import { anyText } from "./texts.js";
import { propertyRuns } from "../support/property-runs.js";

describe.each(["o200k_base", "cl100k_base"] as const)("the count in %s", (encoding) => {
  it("is js-tiktoken's for any text, lone surrogates and special tokens included", async () => {
    const tally = await loadTally(encoding);
    fc.assert(
      fc.property(anyText, (text) => {
        expect(finish(tally.steps([text]))).toBe(referenceCount(encoding, text));
      }),
      { numRuns: propertyRuns(400) },
    );
  });

  it("is within one token a part of js-tiktoken's for runs that are counted in parts", async () => {
    const vocabulary = finish(Vocabulary.read((await encodings[encoding].readRanks()).default));
    const run = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2_050, maxLength: 6_200 }),
      fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: 2_050, maxLength: 6_200 }),
      fc.string({ unit: fc.constantFrom(..."=-#*"), minLength: 2_050, maxLength: 6_200 }),
      fc.string({ unit: fc.constantFrom("가", "的", "你", "謝", "𠮷"), minLength: 2_050, maxLength: 2_060 }),
    );
    const tally = await loadTally(encoding);
    fc.assert(
      fc.property(run, (text) => {
        const parts = Math.ceil(text.length / 2_047);
        expect(Math.abs(finish(tally.steps([text])) - inOnePart(encoding, text, vocabulary))).toBeLessThan(parts);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it.each(["a", " ", "=", "你", "👍"])("is js-tiktoken's for 200 times %j", async (character) => {
    const text = character.repeat(200);
    expect(finish((await loadTally(encoding)).steps([text]))).toBe(referenceCount(encoding, text));
  });
});

it("ranks packed in another way are rejected with a typed error, not counted wrongly", () => {
  for (const bpe_ranks of ["! 5 IQ== Ig==", "! 0 IQ==\n! 1 Ig==", ""] satisfies PackedRanks["bpe_ranks"][]) {
    expect(() => finish(Vocabulary.read({ bpe_ranks }))).toThrow(
      expect.objectContaining({ code: "unsupported_ranks" }),
    );
  }
});

/** The tokens of a run, each piece in one merge: js-tiktoken itself would take seconds for each. */
function inOnePart(encoding: EncodingName, text: string, vocabulary: Vocabulary): number {
  const merge = new BlockMerge(vocabulary);
  let tokens = 0;
  for (let [start, end] = [0, 0]; start < text.length; start = end) {
    end = encodings[encoding].split(text, start);
    const bytes = new TextEncoder().encode(text.slice(start, end));
    tokens += vocabulary.rankOf(bytes, 0, bytes.length) >= 0 ? 1 : merge.run(bytes, 0, bytes.length);
  }
  return tokens;
}

function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      return step.value;
    }
  }
}
