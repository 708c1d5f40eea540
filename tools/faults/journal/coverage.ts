import { hashOf } from "../../testkit/random.js";
import { tokenText, type Token } from "./runs.js";

/** The coverage that a summary claims: how many messages, and the sum of their hashes. */
export interface Coverage {
  readonly count: number;
  readonly sum: number;
}

export const nothing: Coverage = { count: 0, sum: 0 };

/** The sum stays an exact integer: hashes have 32 bits, and it wraps at 48. */
const wrap = 2 ** 48;

export function coverageOf(tokens: readonly Token[]): Coverage {
  return tokens.reduce((sum, token) => addCoverage(sum, { count: 1, sum: hashOf(tokenText(token)) }), nothing);
}

export function addCoverage(left: Coverage, right: Coverage): Coverage {
  return { count: left.count + right.count, sum: (left.sum + right.sum) % wrap };
}

export function sameCoverage(left: Coverage, right: Coverage): boolean {
  return left.count === right.count && left.sum === right.sum;
}

/** The text of a summary. */
export function coverageText({ count, sum }: Coverage): string {
  return `covers ${count} messages with sum ${sum}.`;
}

/** The coverage that all summaries in a text claim. */
export function coverageIn(text: string): Coverage {
  return [...text.matchAll(/covers (\d+) messages with sum (\d+)\./g)]
    .map(([, count, sum]) => ({ count: Number(count), sum: Number(sum) }))
    .reduce(addCoverage, nothing);
}
