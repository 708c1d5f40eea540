import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, type CallLinks, type LinkedCall, blocksOf, compactionIn } from "./content.js";
import { isSignedThought } from "./copies/thoughts.js";
import { roleOf } from "./message.js";
import { jsonText } from "../../base/json-text.js";

/** A step as ascending indexes into the list: an AI message and its tool results. Never split. */
interface Step {
  readonly indexes: readonly number[];
  /** True while a call has no result and no human message follows: the result may still come. */
  readonly pending: boolean;
}

/**
 * For each index from 0 to the length of the list, 1 if the list can be cut before it without splitting a step.
 *
 * A result belongs to the nearest earlier message that called its id, so ids may repeat, results may be apart from
 * their call, and steps may interleave. An orphan result binds nothing; an open call binds the messages up to the next
 * human message or the next call with its id. Linear.
 */
export function findBoundaries(messages: readonly BaseMessage[]): Uint8Array {
  const boundaries = new Uint8Array(messages.length + 1).fill(1);
  let reach = 0;
  for (const { indexes, pending } of stepsOf(messages)) {
    const end = pending ? messages.length : indexes.at(-1)! + 1;
    // Steps come by their first message, so that all between this one's and the reach of those before is filled.
    boundaries.fill(0, Math.max(reach, indexes[0]! + 1), end);
    reach = Math.max(reach, end);
  }
  return boundaries;
}

/** Places where a list may be cut, each an index: 1 if it can be cut before it. */
export interface CutPlaces {
  /** Between steps. */
  readonly all: Uint8Array;
  /** Those of `all` that keep the newest turn whole; undefined unless a thought in it is signed. */
  readonly whole: Uint8Array | undefined;
}

/**
 * Places of a cut. The newest turn stays whole where a thought in it is signed: providers ask for the first thought of
 * a turn that goes on. Linear.
 */
export function cutPlaces(list: readonly BaseMessage[]): CutPlaces {
  const all = findBoundaries(list);
  const newest = list.findLastIndex((message) => roleOf(message) === "human");
  const thinks = newest >= 0 && list.slice(newest).some((message) => blocksOf(message).some(isSignedThought));
  return { all, whole: thinks ? all.map((isPlace, index) => (index <= newest ? isPlace : 0)) : undefined };
}

/** The steps of a list, one per AI message, in order. Linear. */
export function stepsOf(messages: readonly BaseMessage[]): Step[] {
  const links = linkCalls(messages);
  const pending = pendingCallers(messages, links);
  const members = new Map<number, number[]>();
  messages.forEach((message, index) => {
    if (roleOf(message) === "ai") {
      members.set(index, [index]);
    }
    members.get(links.callOf[index]?.index ?? -1)?.push(index);
  });
  return [...members].map(([first, indexes]) => ({ indexes, pending: pending.has(first) }));
}

/** True if `after` holds only part of a step of `before`. Messages are equal by id, else by identity. */
export function splitsStep({
  before,
  after,
}: {
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}): boolean {
  const identities = new Set(after.map(identityOf));
  return stepsOf(before).some(({ indexes }) => {
    const present = indexes.filter((index) => identities.has(identityOf(before[index]!))).length;
    return present !== 0 && present !== indexes.length;
  });
}

function identityOf(message: BaseMessage): unknown {
  return message.id ?? message;
}

/** Indexes of the messages with a call that may still be answered. */
function pendingCallers(messages: readonly BaseMessage[], { callsAt }: CallLinks): ReadonlySet<number> {
  const lastHuman = messages.findLastIndex((message) => roleOf(message) === "human");
  const latest = new Map<string, LinkedCall[]>();
  for (const [index, calls] of callsAt) {
    for (const call of index > lastHuman ? calls : []) {
      const same = call.id === undefined ? undefined : latest.get(call.id);
      if (same?.[0]?.index === index) {
        same.push(call);
      } else if (call.id !== undefined) {
        latest.set(call.id, [call]);
      }
    }
  }
  const open = [...latest.values()].filter((calls) => calls.every(({ results }) => results.length === 0));
  return new Set(open.map(([call]) => call!.index));
}

/**
 * System and developer messages that a reduction keeps: all (without duplicates), the first, or the latest.
 * @example
 * import { ChatHistoryTruncationReducer } from "langchain-redis-memory";
 *
 * const reducer = new ChatHistoryTruncationReducer({ targetCount: 20, systemMessages: "latest" });
 */
export type SystemMessages = "all" | "first" | "latest";

/** Messages that a reducer keeps besides the newest ones. */
export interface SectionOptions {
  /** @default "all" */
  readonly systemMessages?: SystemMessages;
}

/** Ascending indexes of the messages that a reduction must keep and of those that it may remove. */
export interface Sections {
  /**
   * System and developer messages to keep, without duplicates, and the step of the newest compaction, which stands for
   * all before it. System messages in no section are dropped.
   */
  readonly systems: readonly number[];
  readonly summaries: readonly number[];
  readonly free: readonly number[];
}

/** Partitions a list into messages to keep and removable ones. Linear. */
export function sectionsOf(
  messages: readonly BaseMessage[],
  { systemMessages = "all" }: { readonly systemMessages?: SystemMessages | undefined } = {},
): Sections {
  const systems: number[] = [];
  const summaries: number[] = [];
  const rest: number[] = [];
  messages.forEach((message, index) => {
    const role = roleOf(message);
    (role === "system" ? systems : role === "summary" ? summaries : rest).push(index);
  });
  const inFront = new Set(compactionStep(messages));
  return {
    systems: [...chooseSystems(messages, systems, systemMessages), ...inFront],
    summaries,
    free: rest.filter((index) => !inFront.has(index)),
  };
}

/**
 * For each message of `free`, the index into the list of the newest human message before it; -1 if there is none.
 */
export function anchorsOf(messages: readonly BaseMessage[], { free }: Sections): Int32Array {
  let newest = -1;
  return Int32Array.from(free, (index) => {
    const anchor = newest;
    newest = roleOf(messages[index]!) === "human" ? index : newest;
    return anchor;
  });
}

/** Indexes kept by a cut before `free[cut]`, in the order of the result. */
export function keptIndexes(messages: readonly BaseMessage[], sections: Sections, cut: number): number[] {
  const { systems, summaries, free } = sections;
  const rest = free.slice(cut);
  const isInside = cut > 0 && rest.length > 0 && roleOf(messages[rest[0]!]!) !== "human";
  const anchor = isInside ? anchorsOf(messages, sections)[cut]! : -1;
  return [...systems, ...summaries, ...(anchor < 0 ? [] : [anchor]), ...rest];
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
