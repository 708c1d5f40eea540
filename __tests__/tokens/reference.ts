import { Tiktoken } from "js-tiktoken/lite";
import cl100k from "js-tiktoken/ranks/cl100k_base";
import o200k from "js-tiktoken/ranks/o200k_base";
import type { EncodingName } from "../../src/conversation/tokens/counters/tiktoken-counter.js";

const ranks = { o200k_base: o200k, cl100k_base: cl100k };
const made = new Map<EncodingName, Tiktoken>();

/** Tokens by js-tiktoken itself: exact, and quadratic in the length of a run, so for short texts only. */
export function referenceCount(encoding: EncodingName, text: string): number {
  let tiktoken = made.get(encoding);
  if (tiktoken === undefined) {
    tiktoken = new Tiktoken(ranks[encoding]);
    made.set(encoding, tiktoken);
  }
  return tiktoken.encode(text, [], []).length;
}

/** The pieces of a text by the encoding's published pattern. */
export function referencePieces(encoding: EncodingName, text: string): string[] {
  return text.match(new RegExp(ranks[encoding].pat_str, "gu")) ?? [];
}
