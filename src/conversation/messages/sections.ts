import type { BaseMessage } from "@langchain/core/messages";
import { jsonText } from "../../base/json-text.js";
import { compactionIn } from "./calls.js";
import { roleOf } from "./roles.js";
import { stepsOf } from "./steps.js";

/**
 * System and developer messages that a reduction keeps: all (without duplicates), the first, or the latest.
 * @example
 * import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
 *
 * const reducer = new ChatHistoryTruncationReducer({ targetCount: 20, systemMessages: "latest" });
 */
export type SystemMessages = "all" | "first" | "latest";

/**
 * Places where a reducer may cut: in front of a user's message, or between steps, also inside of a turn.
 * @example
 * import { ChatHistoryTruncationReducer, type CutAt } from "langchain-redis-memory";
 *
 * const cutAt: CutAt = "turn";
 * const reducer = new ChatHistoryTruncationReducer({ targetCount: 20, cutAt });
 */
export type CutAt = "turn" | "step";

/** Messages that a reducer keeps besides the newest ones. */
export interface SectionOptions {
  /** @default "all" */
  readonly systemMessages?: SystemMessages;
  /** True for messages to keep like system messages, with their whole step and its human message. @default none */
  readonly pin?: (message: BaseMessage) => boolean;
  /**
   * Places of cuts. `turn`: only in front of a user's message, so that turns leave whole; a turn that alone exceeds the
   * token limit, or twice the number of messages, is cut inside. `step`: between steps. @default "step", but "turn" for
   * the newest turn if a thought in it is signed
   */
  readonly cutAt?: CutAt;
}

/** Ascending indexes of the messages that a reduction must keep and of those that it may remove. */
export interface Sections {
  /**
   * System and developer messages to keep, without duplicates, and the step of the newest compaction, which stands for
   * all before it. System messages in no section are dropped.
   */
  readonly systems: readonly number[];
  readonly summaries: readonly number[];
  readonly pinned: readonly number[];
  readonly free: readonly number[];
  /** Places where `free` may be cut. @default see {@link SectionOptions} */
  readonly cutAt?: CutAt | undefined;
}

/** Partitions a list into messages to keep and removable ones. Linear. */
export function sectionsOf(
  messages: readonly BaseMessage[],
  { systemMessages = "all", pin, cutAt }: { readonly [K in keyof SectionOptions]: SectionOptions[K] | undefined } = {},
): Sections {
  const systems: number[] = [];
  const summaries: number[] = [];
  const rest: number[] = [];
  messages.forEach((message, index) => {
    const role = roleOf(message);
    (role === "system" ? systems : role === "summary" ? summaries : rest).push(index);
  });
  const pinned = pin === undefined ? new Set<number>() : pinnedOf(messages, rest, pin);
  const inFront = new Set(compactionStep(messages));
  return {
    systems: [...chooseSystems(messages, systems, systemMessages), ...inFront],
    summaries,
    pinned: rest.filter((index) => pinned.has(index) && !inFront.has(index)),
    free: rest.filter((index) => !pinned.has(index) && !inFront.has(index)),
    cutAt,
  };
}

/**
 * For each message of `free`, the index into the list of the newest human message before it; -1 if there is none.
 */
export function anchorsOf(messages: readonly BaseMessage[], { free, pinned }: Sections): Int32Array {
  const anchors = new Int32Array(free.length);
  let newest = -1;
  let nextPinned = 0;
  free.forEach((index, place) => {
    for (; nextPinned < pinned.length && pinned[nextPinned]! < index; nextPinned += 1) {
      newest = roleOf(messages[pinned[nextPinned]!]!) === "human" ? pinned[nextPinned]! : newest;
    }
    anchors[place] = newest;
    newest = roleOf(messages[index]!) === "human" ? index : newest;
  });
  return anchors;
}

/** Indexes kept by a cut before `free[cut]`, in the order of the result. */
export function keptIndexes(messages: readonly BaseMessage[], sections: Sections, cut: number): number[] {
  const { systems, summaries, pinned, free } = sections;
  const flags = new Uint8Array(messages.length);
  for (const index of [...pinned, ...free.slice(cut)]) {
    flags[index] = 1;
  }
  const first = free[cut];
  if (cut > 0 && first !== undefined && roleOf(messages[first]!) !== "human") {
    const anchor = anchorsOf(messages, sections)[cut]!;
    flags[anchor] = 1;
  }
  const rest = messages.flatMap((_, index) => (flags[index] === 1 ? [index] : []));
  return [...systems, ...summaries, ...rest];
}

function compactionStep(messages: readonly BaseMessage[]): readonly number[] {
  const at = messages.findLastIndex((message) => compactionIn(message) !== undefined);
  return at < 0 ? [] : (stepsOf(messages).find(({ indexes }) => indexes.includes(at))?.indexes ?? [at]);
}

function chooseSystems(messages: readonly BaseMessage[], systems: readonly number[], choice: SystemMessages): number[] {
  if (choice === "latest") {
    return systems.slice(-1);
  }
  const seen = new Set<string>();
  const different = systems.filter((index) => {
    const key = jsonText(messages[index]!.content);
    return key === undefined || (!seen.has(key) && seen.add(key));
  });
  return choice === "first" ? different.slice(0, 1) : different;
}

function pinnedOf(
  messages: readonly BaseMessage[],
  rest: readonly number[],
  pin: (message: BaseMessage) => boolean,
): Set<number> {
  const list = rest.map((index) => messages[index]!);
  const chosen = Uint8Array.from(list, (message) => (pin(message) ? 1 : 0));
  for (const { indexes } of stepsOf(list)) {
    if (indexes.some((index) => chosen[index] === 1)) {
      indexes.forEach((index) => (chosen[index] = 1));
    }
  }
  const pinned = new Set<number>();
  let human = -1;
  list.forEach((message, index) => {
    human = roleOf(message) === "human" ? index : human;
    if (chosen[index] === 1) {
      pinned.add(rest[index]!);
      if (human >= 0) {
        pinned.add(rest[human]!);
      }
    }
  });
  return pinned;
}
