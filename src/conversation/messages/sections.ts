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
