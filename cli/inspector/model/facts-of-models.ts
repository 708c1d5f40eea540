import type { AnswerUsage, OutlineEntry } from "./data.js";

/** A fact of a model that the operator of the inspector gave. */
export interface ModelFact {
  /** The model's name; with `*` at its end, all names that begin so. */
  readonly name: string;
  /** Tokens of its window. */
  readonly window?: number;
  readonly price?: TokenPrice;
}

/** Prices of a million tokens, in any currency. */
export interface TokenPrice {
  readonly input: number;
  readonly output: number;
  /** For input tokens that the provider read from its cache. @default `input` */
  readonly cached?: number;
}

/** The first fact of this kind that is said of the model. */
export function factOf<Kind extends "window" | "price">(
  facts: readonly ModelFact[],
  kind: Kind,
  model: string,
): ModelFact[Kind] | undefined {
  return facts.find((fact) => fact[kind] !== undefined && isNamed(fact.name, model))?.[kind];
}

function isNamed(name: string, model: string): boolean {
  return name.endsWith("*") ? model.startsWith(name.slice(0, -1)) : name === model;
}

/** The sum of several answers. */
export interface UsageSum extends Omit<AnswerUsage, "model"> {
  readonly answers: number;
  /** Undefined where no price is given for any of the models. */
  readonly cost?: number;
  /** Models without a price, where others have one. */
  readonly unpriced: readonly string[];
}

/** The usage of a session. */
export interface SessionUsage {
  /** By the position of the user message that begins the round. */
  readonly rounds: ReadonlyMap<number, UsageSum>;
  /** The sum of all rounds, and of answers in front of the first; undefined where no answer says what it took. */
  readonly total?: UsageSum;
}

/** Sums up what the answers up to a moment took, by round. Linear. */
export function usageOfRounds(
  { outline, base, end }: { readonly outline: readonly OutlineEntry[]; readonly base: number; readonly end: number },
  facts: readonly ModelFact[],
): SessionUsage {
  const rounds = new Map<number, UsageSum>();
  let total: UsageSum | undefined;
  let begun: number | undefined;
  outline.slice(0, Math.max(0, end - base)).forEach(({ role, usage }, index) => {
    begun = role === "human" ? base + index : begun;
    if (usage === undefined) {
      return;
    }
    total = added(total, usage, facts);
    if (begun !== undefined) {
      rounds.set(begun, added(rounds.get(begun), usage, facts));
    }
  });
  return { rounds, ...(total && { total }) };
}

const nothing: UsageSum = { answers: 0, input: 0, output: 0, cached: 0, unpriced: [] };

function added(sum: UsageSum = nothing, usage: AnswerUsage, facts: readonly ModelFact[]): UsageSum {
  const { model, input, output, cached } = usage;
  const price = factOf(facts, "price", model);
  const cost = price === undefined ? sum.cost : (sum.cost ?? 0) + costOf(usage, price);
  return {
    answers: sum.answers + 1,
    input: sum.input + input,
    output: sum.output + output,
    cached: sum.cached + cached,
    ...(cost !== undefined && { cost }),
    unpriced: price !== undefined || sum.unpriced.includes(model) ? sum.unpriced : [...sum.unpriced, model],
  };
}

function costOf({ input, output, cached }: AnswerUsage, price: TokenPrice): number {
  const read = Math.min(cached, input);
  return ((input - read) * price.input + read * (price.cached ?? price.input) + output * price.output) / 1_000_000;
}
