import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "./message.js";
import { turnFactor } from "./rounds.js";
import { keptIndexes, type Sections, cutPlaces, findBoundaries, type CutPlaces, anchorsOf } from "./steps.js";

/** Sizes of a cut by count, in messages or rounds. */
export interface CountTarget {
  /** Number to keep; of messages, system messages included, summaries not. At least 1. */
  readonly target: number;
  /** Number above `target` before a cut is made; of messages, how far it may move back to reach a human message. */
  readonly threshold: number;
}

/** Reason for making no cut. */
export type NoCut = "within_limit" | "nothing_removable";

/**
 * Indexes of the messages kept by a cut to a number of messages, in the order of the result: systems, summaries, the
 * anchor (the newest human message before a cut inside its round), and everything from the cut on.
 *
 * Semantic Kernel's rule (the newest messages, from a human one if within the threshold), extended by steps: a round
 * with many tool calls can be cut between steps and keeps its human message. Linear.
 */
export function cutByCount(
  messages: readonly BaseMessage[],
  sections: Sections,
  { target, threshold }: CountTarget,
): number[] | NoCut {
  const { systems, free } = sections;
  const keep = Math.max(1, target - systems.length);
  if (free.length <= keep + threshold) {
    return "within_limit";
  }
  const list = free.map((index) => messages[index]!);
  const [newest, most] = [list.length - keep, turnFactor * (keep + threshold)];
  const cut = findCut(list, { places: cutPlaces(list), newest, oldest: newest - threshold, most });
  const indexes = cut === 0 ? [] : keptIndexes(messages, sections, cut);
  return cut === 0 || indexes.length >= messages.length ? "nothing_removable" : indexes;
}

/**
 * {@link cutByCount} in rounds: the newest ones, and the threshold above them, are those of `free`, by its human
 * messages. A cut that would part a step moves back in front of it. Linear.
 */
export function cutByRounds(
  messages: readonly BaseMessage[],
  sections: Sections,
  { target, threshold }: CountTarget,
): number[] | NoCut {
  const list = sections.free.map((index) => messages[index]!);
  const begins = [...list.keys()].filter((index) => roleOf(list[index]!) === "human");
  if (begins.length <= target + threshold) {
    return "within_limit";
  }
  const cut = findBoundaries(list).lastIndexOf(1, begins.at(-target));
  const indexes = cut === 0 ? [] : keptIndexes(messages, sections, cut);
  return cut === 0 || indexes.length >= messages.length ? "nothing_removable" : indexes;
}

interface CountCut {
  readonly places: CutPlaces;
  readonly newest: number;
  readonly oldest: number;
  /** Messages that a turn which stays whole may have. */
  readonly most: number;
}

function findCut(list: readonly BaseMessage[], { places, newest, oldest, most }: CountCut): number {
  const { all, whole } = places;
  for (let index = newest; index >= Math.max(1, oldest); index -= 1) {
    if (all[index] === 1 && roleOf(list[index]!) === "human") {
      return index;
    }
  }
  const next = whole?.indexOf(1, newest + 1) ?? -1;
  const last = next < 0 ? (whole?.lastIndexOf(1, newest) ?? -1) : next;
  return last >= 0 && list.length - last <= most ? last : all.lastIndexOf(1, newest);
}

/** Sizes of a cut by tokens. */
interface TokenTarget {
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
  const indexes = keptIndexes(messages, sections, findTokenCut(messages, sections, target));
  return indexes.length < messages.length ? indexes : "nothing_removable";
}

function findTokenCut(messages: readonly BaseMessage[], sections: Sections, target: TokenTarget): number {
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
  return [...indexes].reduce((total, index) => total + tokens[index]!, 0);
}
