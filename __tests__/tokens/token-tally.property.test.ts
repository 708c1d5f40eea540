import fc from "fast-check";
import { encodings, loadTally } from "../../src/conversation/tokens/encoder/encodings.js";
import { BytePairMerge } from "../../src/conversation/tokens/encoder/byte-pair-merge.js";
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

  it("is the same for runs that are merged step by step, beside each other, as by themselves at once", async () => {
    const tally = await loadTally(encoding);
    const merge = new BytePairMerge(finish(Vocabulary.read((await encodings[encoding].readRanks()).default)));
    const atOnce = (text: string) => {
      const bytes = new TextEncoder().encode(text);
      merge.begin(bytes, bytes.length);
      merge.work(Infinity);
      return merge.tokens;
    };
    const run = fc.oneof(
      fc.string({ unit: fc.constantFrom("a", "b"), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom(..."abcdefghijklmnopqrstuvwxyz"), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom(..."=-#*"), minLength: 2_050, maxLength: 2_200 }),
      fc.string({ unit: fc.constantFrom("가", "的", "你", "謝"), minLength: 2_050, maxLength: 2_060 }),
    );
    fc.assert(
      fc.property(run, run, (one, other) => {
        const [first, second] = [one, other].map((text) => tally.steps([text])) as [Steps, Steps];
        first.next();
        first.next();
        expect([finish(second), finish(first)]).toEqual([other, one].map(atOnce));
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

type Steps = Generator<undefined, number>;

function finish<T>(steps: Generator<undefined, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) {
      return step.value;
    }
  }
}
