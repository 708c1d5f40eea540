import type { BaseMessage } from "@langchain/core/messages";
import { roleOf } from "./roles.js";
import { turnFactor } from "./rounds.js";
import { keptIndexes, type Sections } from "./sections.js";
import { cutPlaces, findBoundaries, type CutPlaces } from "./steps.js";

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
