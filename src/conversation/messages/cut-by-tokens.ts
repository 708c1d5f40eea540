import type { BaseMessage } from "@langchain/core/messages";
import type { NoCut } from "./cut-by-count.js";
import { roleOf } from "./roles.js";
import { anchorsOf, keptIndexes, type Sections } from "./sections.js";
import { cutPlaces } from "./steps.js";

/** Sizes of a cut by tokens. */
export interface TokenTarget {
  /** Tokens of each message of the list. */
  readonly tokens: readonly number[];
  readonly perRequest: number;
  /** No cut is made up to this size. */
  readonly maxTokens: number;
  /** Size after a cut; at most `maxTokens`. */
  readonly targetTokens: number;
  /** Tokens reserved for a message added later, such as a summary. @default 0 */
  readonly reserve?: number;
}

/**
 * Indexes of the messages kept by a cut to a token budget, in the order of the result. Counts systems, summaries, the
 * rest and the fixed cost of the request.
 *
 * Cuts at the oldest boundary from which the rest and its anchor fit `targetTokens`, so that a long round loses its old
 * steps and not its answer; prefers the newest human message before it if that fits `maxTokens`. If nothing fits, the
 * newest step and its anchor are kept. Monotonic: a larger budget never keeps less. Linear.
 */
export function cutByTokens(
  messages: readonly BaseMessage[],
  sections: Sections,
  target: TokenTarget,
): number[] | NoCut {
  const { tokens, perRequest, maxTokens } = target;
  if (sum(tokens, tokens.keys()) + perRequest <= maxTokens) {
    return "within_limit";
  }
  const indexes = keptIndexes(messages, sections, findCut(messages, sections, target));
  return indexes.length < messages.length ? indexes : "nothing_removable";
}

function findCut(messages: readonly BaseMessage[], sections: Sections, target: TokenTarget): number {
  const list = sections.free.map((index) => messages[index]!);
  const { all, whole } = cutPlaces(list);
  const sizes = sizesFrom(messages, sections, target);
  const wholePlaces = whole === undefined ? [] : [...list.keys()].filter((place) => whole[place] === 1);
  const fits = wholePlaces.find((place) => sizes[place]! <= target.targetTokens) ?? wholePlaces.at(-1);
  if (fits !== undefined && sizes[fits]! <= target.maxTokens) {
    return preferred(list, { places: wholePlaces, fits, sizes, target });
  }
  const places = [...list.keys()].filter((place) => all[place] === 1);
  const oldest = places.findIndex((place) => sizes[place]! <= target.targetTokens);
  return preferred(list, { places, fits: places[oldest] ?? places.at(-1) ?? 0, sizes, target });
}

interface FittingCut {
  readonly places: readonly number[];
  readonly fits: number;
  readonly sizes: readonly number[];
  readonly target: TokenTarget;
}

/** The newest human message up to a cut that fits, if that fits the maximum too. */
function preferred(list: readonly BaseMessage[], { places, fits, sizes, target }: FittingCut): number {
  // Sizes from human messages on decrease, so if the newest does not fit, no older one does.
  const human = places.findLast((place) => place <= fits && roleOf(list[place]!) === "human");
  return human !== undefined && sizes[human]! <= target.maxTokens ? human : fits;
}

/** Tokens of the result for a cut before each free message. */
function sizesFrom(messages: readonly BaseMessage[], sections: Sections, target: TokenTarget): number[] {
  const { systems, summaries, free } = sections;
  const { tokens, perRequest, reserve = 0 } = target;
  const anchors = anchorsOf(messages, sections);
  const sizes = new Array<number>(free.length);
  let size = perRequest + reserve + sum(tokens, systems) + sum(tokens, summaries);
  for (let place = free.length - 1; place >= 0; place -= 1) {
    size += tokens[free[place]!]!;
    const anchor = anchors[place]!;
    const needsAnchor = anchor >= 0 && roleOf(messages[free[place]!]!) !== "human";
    sizes[place] = size + (needsAnchor ? tokens[anchor]! : 0);
  }
  return sizes;
}

function sum(tokens: readonly number[], indexes: Iterable<number>): number {
  let total = 0;
  for (const index of indexes) {
    total += tokens[index]!;
  }
  return total;
}
