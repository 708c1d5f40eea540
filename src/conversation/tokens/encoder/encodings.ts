import { runPaced } from "../counters/paced.js";
import { splitCl100k, splitO200k, type Splitter } from "./split.js";
import { TokenTally, Vocabulary, type PackedRanks } from "./token-tally.js";

/** Encodings whose tokens can be counted: `o200k_base` (GPT-4o and later), `cl100k_base` (GPT-4, GPT-3.5). */
export type EncodingName = "o200k_base" | "cl100k_base";

interface Encoding {
  readonly split: Splitter;
  /** Tokens of OpenAI's formula at the head of each tool definition. */
  readonly perFunction: number;
  readonly readRanks: () => Promise<{ readonly default: PackedRanks }>;
}

/** Splitter, formula and ranks of each encoding. */
export const encodings: Readonly<Record<EncodingName, Encoding>> = {
  o200k_base: { split: splitO200k, perFunction: 7, readRanks: () => import("js-tiktoken/ranks/o200k_base") },
  cl100k_base: { split: splitCl100k, perFunction: 10, readRanks: () => import("js-tiktoken/ranks/cl100k_base") },
};

const loaded = new Map<EncodingName, TokenTally>();
const loading = new Map<EncodingName, Promise<TokenTally>>();

/** The tally of an encoding if this process has loaded it. */
export function loadedTally(name: EncodingName): TokenTally | undefined {
  return loaded.get(name);
}

/**
 * The tally of an encoding, loaded once per process from the installed js-tiktoken (no network), in some 100 ms with
 * pauses in between.
 */
export function loadTally(name: EncodingName): Promise<TokenTally> {
  let promise = loading.get(name);
  if (promise === undefined) {
    promise = read(name);
    loading.set(name, promise);
    promise.catch(() => loading.delete(name));
  }
  return promise;
}

async function read(name: EncodingName): Promise<TokenTally> {
  const { split, readRanks } = encodings[name];
  const { default: ranks } = await readRanks();
  const tally = new TokenTally(await runPaced(Vocabulary.read(ranks)), split);
  loaded.set(name, tally);
  return tally;
}
