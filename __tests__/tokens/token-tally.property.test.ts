import fc from "fast-check";
import { encodings, loadTally, type EncodingName } from "../../src/conversation/tokens/encoder/encodings.js";
import { TokenTally } from "../../src/conversation/tokens/encoder/token-tally.js";
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

  it("equals js-tiktoken's for runs that are merged block by block, wherever the blocks are cut", async () => {
    const vocabulary = finish(Vocabulary.read((await encodings[encoding].readRanks()).default));
    const run = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom(..."=-#* "), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom("가", "的", "你", "謝"), minLength: 2_050, maxLength: 2_060 }),
    );
    fc.assert(
      fc.property(run, fc.constantFrom(8, 16, 40, 300), (text, blockSize) => {
        const tally = new TokenTally({ vocabulary, split: encodings[encoding].split, blockSize });
        expect(finish(tally.steps([text]))).toBe(unblocked(encoding, text, vocabulary));
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

/** One block for the whole run: js-tiktoken itself would take seconds for each. */
function unblocked(encoding: EncodingName, text: string, vocabulary: Vocabulary): number {
  return finish(new TokenTally({ vocabulary, split: encodings[encoding].split, blockSize: 1_000_000 }).steps([text]));
}

function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      return step.value;
    }
  }
}
