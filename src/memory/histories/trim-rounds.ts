import type { BaseMessage } from "@langchain/core/messages";
import { textOf } from "../../conversation/messages/content.js";
import { type Round, splitRounds } from "../../conversation/messages/rounds.js";
import { keptIndexes, sectionsOf } from "../../conversation/messages/sections.js";
import { findBoundaries } from "../../conversation/messages/steps.js";
import { fitMessages, type FitOptions } from "./fit-rounds.js";
import { linesOf } from "./round-format.js";

/**
 * The last rounds of messages on their way to a model: those that `fitMessages` shows, tool results included, with all
 * system messages and summaries in front. Steps stay whole, and a round that is cut keeps its human message, also where
 * the newest step is larger than `maxContext`. Linear.
 */
export function trimToRounds(
  messages: readonly BaseMessage[],
  { nRounds, ...limits }: FitOptions & { readonly nRounds: number },
): BaseMessage[] {
  const sections = sectionsOf(messages);
  const list = sections.free.map((index) => messages[index]!);
  const rounds = splitRounds(list).slice(-nRounds);
  const [first] = fitMessages(linesOf(rounds, true), limits);
  const cut = cutInto(list, rounds, first);
  return cut === 0 ? [...messages] : keptIndexes(messages, sections, cut).map((index) => messages[index]!);
}

/** The cut in front of the first message that is shown, with what stands before it in its step or round unshown. */
function cutInto(list: readonly BaseMessage[], rounds: readonly Round[], first: BaseMessage | undefined): number {
  let at = first === undefined ? 0 : rounds.findIndex(({ messages }) => messages.includes(first));
  while (at > 0 && rounds[at - 1]!.messages.every((message) => textOf(message) === "")) {
    at -= 1;
  }
  const start = list.length - rounds.slice(at).reduce((sum, { messages }) => sum + messages.length, 0);
  const boundaries = findBoundaries(list);
  let from = first === undefined ? start : list.indexOf(first, start);
  while (from > start && textOf(list[from - 1]!) === "") {
    from -= 1;
  }
  const next = from === start ? list.length : boundaries.indexOf(1, from);
  return next < list.length ? next : boundaries.lastIndexOf(1, from === start ? start : list.length - 1);
}
