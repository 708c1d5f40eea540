import type { BaseMessage } from "@langchain/core/messages";
import { blocksOf } from "./content.js";
import { isSignedThought } from "./copies/thoughts.js";
import { roleOf } from "./roles.js";
import type { CutAt } from "./sections.js";
import { findBoundaries } from "./steps.js";

/** Places where a list may be cut, each an index: 1 if it can be cut before it. */
export interface CutPlaces {
  /** Between steps. */
  readonly all: Uint8Array;
  /** Those of `all` that keep turns whole as `cutAt` asks for it; undefined if it asks for nothing. */
  readonly whole: Uint8Array | undefined;
}

/**
 * Places of a cut. By default the newest turn stays whole where a thought in it is signed: providers ask for the first
 * thought of a turn that goes on. Linear.
 */
export function cutPlaces(list: readonly BaseMessage[], cutAt: CutAt | undefined): CutPlaces {
  const all = findBoundaries(list);
  const newest = list.findLastIndex(isHuman);
  const isFree = cutAt === "step" || newest < 0;
  if (isFree || (cutAt === undefined && !list.slice(newest).some(holdsSignedThought))) {
    return { all, whole: undefined };
  }
  const isWhole = (index: number) => index <= newest && (cutAt === undefined || isHuman(list[index]!));
  return { all, whole: all.map((isPlace, index) => (isPlace === 1 && isWhole(index) ? 1 : 0)) };
}

function isHuman(message: BaseMessage): boolean {
  return roleOf(message) === "human";
}

function holdsSignedThought(message: BaseMessage): boolean {
  return blocksOf(message).some(isSignedThought);
}
