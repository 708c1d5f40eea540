import type { BaseMessage } from "@langchain/core/messages";
import { keepLastCharacters, lengthOf } from "../../base/graphemes.js";
import { textOf, answeredId } from "../../conversation/messages/content.js";
import { roleOf, speakerOf } from "../../conversation/messages/message.js";
import { type Round, splitRounds } from "../../conversation/messages/rounds.js";
import { keptIndexes, sectionsOf, findBoundaries } from "../../conversation/messages/steps.js";

/** Size limit of a result. */
interface FitOptions {
  /** Maximum code points of the result, notice included. */
  readonly maxContext: number;
  readonly truncationNotice: string;
}

/** Overhead of one format around messages, in code points. */
interface Measure {
  readonly of: (line: Line) => number;
  readonly betweenMessages: number;
  readonly betweenRounds: number;
  readonly around: number;
}

const textMeasure: Measure = {
  of: (line) => lengthOf(textLine(line)),
  betweenMessages: 1,
  betweenRounds: 2,
  around: 0,
};
const jsonMeasure: Measure = {
  of: (line) => lengthOf(JSON.stringify(jsonLine(line))),
  betweenMessages: 1,
  betweenRounds: 1,
  around: 2,
};

/** Rounds as text, a newline between messages and a blank line between rounds; `[...result].length <= maxContext`. */
export function fitText(rounds: readonly Line[][], { maxContext, truncationNotice }: FitOptions): string {
  const whole = keepRounds({ rounds, budget: maxContext, measure: textMeasure });
  if (!whole.cut) {
    return joinText(whole.rounds);
  }
  const budget = maxContext - lengthOf(truncationNotice);
  if (budget <= 0) {
    return keepEnd(rounds, { tail: whole.rounds, budget: maxContext });
  }
  const { rounds: tail } = keepRounds({ rounds, budget, measure: textMeasure });
  return truncationNotice + keepEnd(tail, { tail, budget });
}

/**
 * The end of the text. A label that the cut would part stays whole in front of it, or leaves where it does not fit; so
 * does that of the message that is cut where it says which of several users speaks.
 */
function keepEnd(
  rounds: readonly Line[][],
  { tail, budget }: { readonly tail: readonly Line[][]; readonly budget: number },
): string {
  const [first] = tail.flat();
  const isNamed = first !== undefined && isNamedUser(first);
  const text = joinText(isNamed ? tail : rounds);
  const end = keepLastCharacters(text, budget);
  const cut = text.length - end.length;
  const { label, from } = isNamed && cut > 0 ? { label: labelOf(first), from: 0 } : partedLabel(rounds, cut);
  const left = budget - lengthOf(label);
  if (label === "") {
    return end;
  }
  const behind = text.slice(from + label.length);
  return left > 0 ? label + keepLastCharacters(behind, left) : keepLastCharacters(behind, budget);
}

/** The label that a cut of the text would part, and its place; an empty one if it would part none. */
function partedLabel(rounds: readonly Line[][], cut: number): { readonly label: string; readonly from: number } {
  let from = 0;
  for (const round of rounds) {
    for (const line of round) {
      const label = labelOf(line);
      if (cut > from && cut < from + label.length) {
        return { label, from };
      }
      from += textLine(line).length + textMeasure.betweenMessages;
    }
    from += textMeasure.betweenRounds - textMeasure.betweenMessages;
  }
  return { label: "", from };
}

/** The messages that `fitText` would show, never truncated, at least the last. */
export function fitMessages(rounds: readonly Line[][], { maxContext, truncationNotice }: FitOptions): BaseMessage[] {
  const whole = keepRounds({ rounds, budget: maxContext, measure: textMeasure });
  const noticeLength = lengthOf(truncationNotice);
  const budget = maxContext > noticeLength ? maxContext - noticeLength : maxContext;
  const { rounds: tail } = whole.cut ? keepRounds({ rounds, budget, measure: textMeasure }) : whole;
  return tail.flat().map(({ message }) => message);
}

/**
 * Rounds as a JSON array of `{ role, name?, content }`, the notice as a first element of role `system`; the serialized
 * length obeys `maxContext`.
 */
export function fitJson(rounds: readonly Line[][], { maxContext, truncationNotice }: FitOptions): string {
  const whole = keepRounds({ rounds, budget: maxContext, measure: jsonMeasure });
  if (!whole.cut) {
    return JSON.stringify(whole.rounds.flat().map(jsonLine));
  }
  const notice = { role: "system", content: truncationNotice };
  const noticeLength = lengthOf(JSON.stringify(notice)) + 1;
  const withNotice = maxContext - 2 > noticeLength;
  const budget = maxContext - (withNotice ? noticeLength : 0);
  const { rounds: tail, cut: stillTooLong } = keepRounds({ rounds, budget, measure: jsonMeasure });
  const lines = tail.flat().map(jsonLine);
  const last = tail.flat()[0];
  const shown = stillTooLong && tail.flat().length === 1 && last !== undefined ? shortenJson(last, budget - 2) : lines;
  return JSON.stringify([...(withNotice ? [notice] : []), ...shown]);
}

/** The newest rounds that fit; of the newest round, the newest messages that fit, at least one even if it does not. */
function keepRounds({ rounds, budget, measure }: { rounds: readonly Line[][]; budget: number; measure: Measure }) {
  const room = budget - measure.around;
  const lengthOfRound = (round: readonly Line[]) =>
    round.reduce((sum, line) => sum + measure.of(line), 0) + (round.length - 1) * measure.betweenMessages;
  const first = firstThatFits(rounds, { room, between: measure.betweenRounds, lengthOfItem: lengthOfRound });
  if (first < rounds.length || rounds.length === 0) {
    return { rounds: rounds.slice(first), cut: first > 0 };
  }
  const newest = rounds[rounds.length - 1]!;
  const start = firstThatFits(newest, { room, between: measure.betweenMessages, lengthOfItem: measure.of });
  return { rounds: [newest.slice(Math.min(start, newest.length - 1))], cut: true };
}

/** The index from which on the items fit, with what stands between them; their number if not even the last one does. */
function firstThatFits<Item>(
  items: readonly Item[],
  limits: { readonly room: number; readonly between: number; readonly lengthOfItem: (item: Item) => number },
): number {
  let used = 0;
  let first = items.length;
  while (first > 0) {
    used += limits.lengthOfItem(items[first - 1]!) + (first === items.length ? 0 : limits.between);
    if (used > limits.room) {
      break;
    }
    first -= 1;
  }
  return first;
}

function joinText(rounds: readonly Line[][]): string {
  return rounds.map((round) => round.map(textLine).join("\n")).join("\n\n");
}

/** One element with its content truncated at the front; none if not even empty content fits. */
function shortenJson(line: Line, budget: number): ReturnType<typeof jsonLine>[] {
  const lengthWith = (content: string) => lengthOf(JSON.stringify(jsonLine({ ...line, content })));
  if (lengthWith(line.content) <= budget) {
    return [jsonLine(line)];
  }
  if (lengthWith("") > budget) {
    return [];
  }
  // A character takes one in JSON, or more: what is left fits.
  const fits = lengthOf(line.content) - (lengthWith(line.content) - budget);
  return [jsonLine({ ...line, content: fits > 0 ? keepLastCharacters(line.content, fits) : "" })];
}

/** A message for display: speaker and content. */
interface Line {
  readonly message: BaseMessage;
  readonly role: string;
  readonly name: string | undefined;
  readonly speaker: string;
  readonly content: string;
}

/**
 * The messages of each round that have text, tool results only on request; empty rounds are omitted. Users are shown by
 * their names where there are several.
 */
export function linesOf(rounds: readonly Round[], includeTools: boolean): Line[][] {
  const users = rounds.flatMap(({ messages }) => messages.filter((message) => roleOf(message) === "human"));
  const hasUsers = new Set(users.flatMap(({ name }) => name || [])).size > 1;
  const toLine = (message: BaseMessage) => lineOf(message, hasUsers);
  return rounds
    .map(({ messages }) => messages.filter((message) => includeTools || roleOf(message) !== "tool").map(toLine))
    .map((lines) => lines.filter(({ content }) => content !== ""))
    .filter((lines) => lines.length > 0);
}

/** `<name or role>: <content>`. */
function textLine(line: Line): string {
  return labelOf(line) + line.content;
}

/** Name or role, in front of the content. */
function labelOf({ speaker }: Line): string {
  return `${speaker}: `;
}

/** True for a user who is shown by name. */
function isNamedUser({ role, speaker }: Line): boolean {
  return role === "user" && speaker !== role;
}

/** The JSON element of a message, in this key order. */
function jsonLine({ role, name, content }: Line): { role: string; name?: string; content: string } {
  return name === undefined ? { role, content } : { role, name, content };
}

function lineOf(message: BaseMessage, hasUsers: boolean): Line {
  const role = shownRole(message);
  const name = message.name === undefined || message.name === "" ? undefined : message.name;
  return { message, role, name, speaker: shownSpeaker({ message, role, name }, hasUsers), content: textOf(message) };
}

/** Display role: summaries are the system's, unknown roles the assistant's. */
function shownRole(message: BaseMessage): string {
  if (roleOf(message) === "summary") {
    return "system";
  }
  const speaker = speakerOf(message);
  return speaker === "other" ? "assistant" : speaker;
}

function shownSpeaker({ message, role, name }: Pick<Line, "message" | "role" | "name">, hasUsers: boolean): string {
  if (role === "tool") {
    return `tool(${name ?? answeredId(message)})`;
  }
  return role === "assistant" || (role === "user" && hasUsers) ? (name ?? role) : role;
}

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
