import fc from "fast-check";
import { splitCl100k, splitO200k, type Splitter } from "../../src/conversation/tokens/encoder/split.js";
import { referenceCount, referencePieces } from "./reference.js";
import { anyText } from "./texts.js";
import { forAll } from "../support/property-runs.js";
import { encodings, loadTally } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { BytePairMerge, type PackedRanks, Vocabulary } from "../../src/conversation/tokens/encoder/token-tally.js";

describe.each([
  ["o200k_base", splitO200k],
  ["cl100k_base", splitCl100k],
] as const)("the pieces of %s", (encoding, split) => {
  it("are those of the encoding's published pattern", () =>
    forAll(1000, anyText, (text) => {
      expect(pieces(split, text)).toEqual(referencePieces(encoding, text));
    }));

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

describe.each(["o200k_base", "cl100k_base"] as const)("the count in %s", (encoding) => {
  it("is js-tiktoken's for any text, lone surrogates and special tokens included", async () => {
    const tally = await loadTally(encoding);
    forAll(400, anyText, (text) => {
      expect(finish(tally.steps([text]))).toBe(referenceCount(encoding, text));
    });
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
    forAll(60, fc.tuple(run, run), ([one, other]) => {
      const [first, second] = [one, other].map((text) => tally.steps([text])) as [Steps, Steps];
      first.next();
      first.next();
      expect([finish(second), finish(first)]).toEqual([other, one].map(atOnce));
    });
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
