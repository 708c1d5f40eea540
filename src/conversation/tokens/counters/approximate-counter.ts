import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy, parseOptions } from "../../../base/options.js";
import { type Cost, messageCost, replyTokens } from "../formulas/message-cost.js";
import type { TokenCounter } from "../counted-messages.js";
import { toolListSchema, toolsCost, type ToolDefinitionLike } from "../formulas/tools-cost.js";
import {
  classAt,
  digit,
  lowercase,
  mark,
  otherLetter,
  space,
  uppercase,
  widthAt,
  splitO200k,
} from "../encoder/split.js";

/** Options of {@link approximateCounter}. */
export interface ApproximateCounterOptions {
  /** Tools that go with each request, as given to `bindTools`; counted once, in `perRequest`. Default: none. */
  readonly tools?: readonly ToolDefinitionLike[];
}

const optionsSchema = lazy(() => z.strictObject({ tools: toolListSchema() }));

/**
 * A counter without an encoding: numbers at once, nothing to load, some five million characters a second.
 *
 * It weighs words by script and length, and knows digits, emoji, JSON, code and base64, because "four characters are a
 * token" is off by a factor of 2 to 4 for half of the world's scripts. Short texts in 17 languages and formats are
 * within a quarter of `o200k_base`, on average within 7 %, and 200,000 tokens of recorded conversations within 3 %.
 * Messages, tools and media count by the same formulas as with `tiktokenCounter`.
 *
 * @throws ConfigurationError for a tool that is not an object.
 * @example
 * import { approximateCounter, ChatHistoryTokenReducer } from "langchain-redis-memory";
 *
 * const reducer = new ChatHistoryTokenReducer({ maxTokens: 8_000, tokenCounter: approximateCounter() });
 */
export function approximateCounter(options: ApproximateCounterOptions = {}): TokenCounter {
  const { tools } = parseOptions("approximateCounter", optionsSchema(), options);
  return {
    id: "approximate:1",
    perRequest: replyTokens + estimateCost(toolsCost(tools, 7)),
    countMessage: (message: BaseMessage) => estimateCost(messageCost(message)),
    countText: estimateTokens,
  };
}

/** A cost with its texts estimated. */
export function estimateCost({ texts, tokens }: Cost): number {
  return texts.reduce((sum, text) => sum + estimateTokens(text), tokens);
}

const letter = uppercase | lowercase | otherLetter;

/** Letters of a lower-case Latin word that are one token as a rule, and tokens per letter beyond them. */
const commonWordLength = 7;
const perLatinLetter = 0.25;
const perCapital = 0.2;
const perAccent = 0.35;

/**
 * Tokens per letter by script: each row holds from its first code point, a multiple of 16, up to the next row's. Fitted
 * on o200k_base.
 */
const scriptWeights: readonly (readonly [number, number])[] = [
  [0x0250, 0.8],
  [0x0370, 0.45], // Greek
  [0x0400, 0.26], // Cyrillic
  [0x0450, 0.7], // Cyrillic letters that Russian has not
  [0x0530, 0.42], // Armenian
  [0x0590, 0.45], // Hebrew
  [0x0600, 0.36], // Arabic
  [0x0700, 0.9],
  [0x0900, 0.28], // Devanagari
  [0x0980, 0.36], // Bengali and the scripts of southern India
  [0x0e00, 0.4], // Thai, Lao
  [0x0f00, 0.8],
  [0x10a0, 0.45], // Georgian
  [0x1100, 0.9],
  [0x1e00, 0.5], // Latin with two accents, Greek with accents
  [0x2000, 1],
  [0x3040, 0.62], // Kana
  [0x3400, 1.9],
  [0x4e00, 0.74], // Han
  [0xa000, 1.9],
  [0xac00, 0.68], // Hangul
  [0xd7b0, 0.9],
];
const perRareLetter = 2.5;
const weights = weightTable();
/**
 * Symbols: some in a row are one token, a row of the same one is one for long, emoji and other signs beyond ASCII are
 * not.
 */
const commonSymbols = 3;
const perSymbol = 0.3;
const perTypographicSymbol = 0.6;
const perEmoji = 1.5;
const firstEmoji = 0x1f000;
const commonRun = 64;

/** A run without a space, at least this long and of pieces this short, is random to the model: base64, hashes, ids. */
const denseLength = 16;
const densePiece = 2.7;
const perDenseCharacter = 0.7;
const denseCharacters: readonly boolean[] = Array.from({ length: 128 }, (_, unit) =>
  /[A-Za-z0-9+/=_-]/.test(String.fromCharCode(unit)),
);

/**
 * About how many tokens a text is, in one pass and without an encoding: the pieces of o200k_base, each weighed by its
 * kind and script.
 */
export function estimateTokens(text: string): number {
  let tokens = 0;
  const run = new CharacterRun();
  for (let start = 0; start < text.length;) {
    const end = splitO200k(text, start);
    const weight = pieceWeight(text, start, end);
    if (isDenseCharacter(text.charCodeAt(end - 1))) {
      tokens += isDenseCharacter(text.charCodeAt(start)) ? 0 : run.close();
      run.add(end - start, weight);
    } else {
      tokens += run.close() + weight;
    }
    start = end;
  }
  return Math.ceil(tokens + run.close());
}

/** Pieces of letters, digits and `+/=_-` that follow each other without a space. */
class CharacterRun {
  #characters = 0;
  #pieces = 0;
  #tokens = 0;

  add(characters: number, tokens: number): void {
    this.#characters += characters;
    this.#pieces += 1;
    this.#tokens += tokens;
  }

  /** The tokens of the run, which ends here. */
  close(): number {
    const [characters, pieces, tokens] = [this.#characters, this.#pieces, this.#tokens];
    this.#characters = this.#pieces = this.#tokens = 0;
    const dense = characters >= denseLength && characters < pieces * densePiece;
    return dense ? Math.max(tokens, characters * perDenseCharacter) : tokens;
  }
}

function isDenseCharacter(unit: number): boolean {
  return unit < 0x80 && (denseCharacters[unit] ?? false);
}

/** Tokens of a piece: 1 for white space, digits, symbols and common words, more by script, length and variety. */
function pieceWeight(text: string, start: number, end: number): number {
  if ((classAt(text, end - 1) & (digit | space)) !== 0) {
    return 1 + (end - start) / commonRun;
  }
  let latin = 0;
  let symbols = 0;
  let weight = 0;
  for (let index = start; index < end; index += widthAt(text, index)) {
    const bits = classAt(text, index);
    const codePoint = text.codePointAt(index)!;
    if ((bits & (letter | mark)) === 0) {
      symbols += text.charCodeAt(index) === text.charCodeAt(index - 1) ? 1 / commonRun : 1;
      weight += symbolWeight(codePoint);
    } else if (codePoint < 0x250) {
      latin += 1;
      weight += ((bits & uppercase) !== 0 && latin > 1 ? perCapital : 0) + (codePoint < 0x80 ? 0 : perAccent);
    } else {
      weight += scriptWeight(codePoint);
    }
  }
  const common =
    latin > 0
      ? 1 + Math.max(0, latin - commonWordLength) * perLatinLetter
      : Math.max(0, symbols - commonSymbols) * perSymbol;
  return Math.max(1, common + weight);
}

function symbolWeight(codePoint: number): number {
  if (codePoint < 0x80) {
    return 0;
  }
  return codePoint < firstEmoji ? perTypographicSymbol : perEmoji;
}

function scriptWeight(codePoint: number): number {
  return codePoint < 0x10000 ? weights[codePoint >> 4]! : perRareLetter;
}

/** The weight of each row of sixteen code units. */
function weightTable(): Float64Array {
  const table = new Float64Array(0x1000);
  scriptWeights.forEach(([first, perLetter]) => table.fill(perLetter, first >> 4));
  return table;
}
