import type { BaseMessage } from "@langchain/core/messages";
import type fc from "fast-check";
import { findOrphanResults } from "../../src/conversation/messages/content.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { splitsStep } from "../../src/conversation/messages/steps.js";
import { forAllAsync } from "./property-runs.js";

/** The messages that a cut may remove: neither system messages nor summaries. */
export function rest(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter((message) => !["system", "summary"].includes(roleOf(message)));
}

/** Checks that a cut splits no step, and leaves no result without its call that had one. */
export function expectWholeSteps(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  expect(splitsStep({ before, after })).toBe(false);
  const orphans = new Set(findOrphanResults(before).map((index) => before[index]!.id));
  expect(findOrphanResults(after).filter((index) => !orphans.has(after[index]!.id))).toEqual([]);
}

/** Checks that a cut keeps each distinct system message. */
export function expectSystemTexts(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  const texts = (list: readonly BaseMessage[]) =>
    new Set(list.filter((message) => roleOf(message) === "system").map(({ text }) => text));
  expect(texts(after)).toEqual(texts(before));
}

/** Checks that a cut keeps each summary and each distinct system message. */
export function expectKeptFront(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  expectSystemTexts(before, after);
  const summaries = before.filter((message) => roleOf(message) === "summary");
  expect(summaries.filter(({ id }) => !after.some((message) => message.id === id))).toEqual([]);
}

/** Checks that what a cut leaves stands in the order in which it stood. */
export function expectOrder(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  const places = rest(after).map(({ id }) => before.findIndex((message) => message.id === id));
  expect(places).toEqual([...places].sort((a, b) => a - b));
  expect(places).not.toContain(-1);
}

/** Checks that a cut keeps the newest question, and begins with one if there is an earlier one. */
export function expectQuestionFirst(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  const [all, kept] = [rest(before), rest(after)];
  const newest = all.findLast((message) => roleOf(message) === "human");
  expect(newest === undefined || kept.includes(newest)).toBe(true);
  const earlier = all.slice(0, all.findIndex(({ id }) => id === kept[0]?.id) + 1);
  const isFirst = kept.length === 0 || roleOf(kept[0]!) === "human";
  expect(isFirst || earlier.every((message) => roleOf(message) !== "human")).toBe(true);
}

/** Checks that a cut leaves its input as it was: the same objects, saying the same. */
export async function expectUntouchedInput<Case extends { readonly messages: BaseMessage[] }>(
  cases: fc.Arbitrary<Case>,
  cut: (given: Case) => Promise<unknown>,
): Promise<void> {
  await forAllAsync(100, cases, async (given) => {
    const [list, texts] = [[...given.messages], JSON.stringify(given.messages)];
    await cut(given);
    expect(given.messages).toEqual(list);
    expect(JSON.stringify(given.messages)).toBe(texts);
  });
}
