import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf, blockText, isBlankText, textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { comparableForms } from "../session/stored-forms.js";
import { inTurnOrder, type DecodedView, type StoredEntry } from "../session/view.js";
import { jsonText, sameAsJson } from "../base/json-text.js";
import {
  type Compared,
  endsAlike,
  isEqual,
  isHeld,
  lastMatch,
  type Utterance,
  utterancesOf,
  wordsOf,
} from "./utterances.js";

/** A caller's input, and its messages that are known to be stored. */
export interface InputRequest {
  readonly session: ConversationSession;
  readonly view: DecodedView;
  /** Positions in the log of the messages whose ids are stored. */
  readonly positions: ReadonlyMap<string, number>;
  readonly input: readonly BaseMessage[];
}

/** Log positions of a stored input: first message of its block, and question. */
export interface InputPlace {
  readonly first: number;
  readonly last: number;
}

/** The part of an input that is not stored; for a retry, `place` is the position of the stored input. */
export interface NewInput {
  readonly newMessages: readonly BaseMessage[];
  readonly place: InputPlace | undefined;
}

/**
 * Finds the new messages of an input that may be a client's whole history.
 *
 * With ids: the messages after the last stored one. Without ids: the last question, if the messages before it equal a
 * part of the transcript, preferably its end (others may have asked since, also in between); if only the first of them
 * do, the rest too. Answers may be held in part, see {@link isHeld}. A system message that is in the view is not new.
 * One more round trip if the comparison needs messages that left the view, two if many calls lie between them.
 */
export async function newInput(request: InputRequest): Promise<NewInput> {
  const { session, input } = request;
  const { forms } = session.context;
  if (forms === undefined || (input.length === 1 && roleOf(input[0]!) === "human")) {
    return sortInput(request);
  }
  // Compares stored forms; new messages are returned as given.
  const compared = await comparableForms(input, forms);
  const given = new Map(compared.map((form, index) => [form, input[index]!]));
  const found = await sortInput({ ...request, input: compared });
  return { ...found, newMessages: found.newMessages.map((form) => given.get(form)!) };
}

async function sortInput({ session, view, positions, input }: InputRequest): Promise<NewInput> {
  const question = input.findLastIndex((message) => roleOf(message) === "human");
  const positionOf = ({ id }: BaseMessage) => (id === undefined ? undefined : positions.get(id));
  const lastKnown = input.findLastIndex((message) => positionOf(message) !== undefined);
  if (lastKnown >= 0) {
    const isRetry = question >= 0 && lastKnown >= question;
    const block = isRetry ? input.slice(firstOfBlock(input, question), question + 1) : [];
    const known = positionOf(input[lastKnown]!)!;
    const last = positionOf(input[question] ?? input[lastKnown]!) ?? known;
    const first = firstPosition(block.map(positionOf)) ?? last;
    const rest = input.slice(lastKnown + 1);
    return {
      newMessages: withoutKnownSystems(isRetry ? rest : withoutStored(rest, view, known), view),
      place: isRetry ? { first, last } : undefined,
    };
  }
  const block = question < 0 ? input.length : firstOfBlock(input, question);
  const earlier = utterancesOf(input.slice(0, block));
  const found = await samePlainHistory({ session, view, earlier, asked: input[question] });
  const { first } = found ?? {};
  const behind = found === undefined ? 0 : found.held === earlier.length ? block : earlier[found.held - 1]!.end;
  const mayRepeat = behind === block && first === undefined;
  const before = input.slice(block, Math.max(block, question));
  const from = behind + (mayRepeat ? askedAgain(before, found ?? { behind: openIn(view, before) }) : 0);
  const systems = input.slice(0, from).filter((message) => roleOf(message) === "system");
  const newMessages = withoutKnownSystems([...systems, ...input.slice(from)], view);
  return { newMessages, place: first === undefined ? undefined : { first, last: first } };
}

/** First position of the contiguous run that ends with the block's last message. */
function firstPosition(positions: readonly (number | undefined)[]): number | undefined {
  let first = positions.at(-1);
  for (let index = positions.length - 2; first !== undefined && positions[index] === first - 1; index -= 1) {
    first -= 1;
  }
  return first;
}

/** Index of the first message of the block of user and system messages that ends with a question. */
export function firstOfBlock(input: readonly BaseMessage[], question: number): number {
  let first = question;
  while (first > 0 && ["human", "system"].includes(roleOf(input[first - 1]!))) {
    first -= 1;
  }
  return first;
}

/** Drops messages that are stored behind the last known one: a client may use other ids for answers. */
function withoutStored(rest: readonly BaseMessage[], view: DecodedView, lastKnown: number): BaseMessage[] {
  const at = view.entries.findIndex(({ position }) => position === lastKnown);
  const isBehind = ({ position = -1 }: StoredEntry, index: number) => (at < 0 ? position > lastKnown : index > at);
  const stored = utterancesOf(view.entries.filter(isBehind).map(({ message }) => message));
  const question = rest.findLastIndex((message) => roleOf(message) === "human");
  // A question under an id that is not stored is new, also where another one that says the same is stored there.
  const held = utterancesOf(question < 0 ? rest : rest.slice(0, question));
  const isOther = (utterance: Utterance, index: number) =>
    stored[index] === undefined || !isHeld(utterance, stored[index]);
  const other = held.findIndex(isOther);
  return rest.slice(held.slice(0, other < 0 ? held.length : other).at(-1)?.end ?? 0);
}

function withoutKnownSystems(messages: readonly BaseMessage[], { entries }: DecodedView): BaseMessage[] {
  if (messages.every((message) => roleOf(message) !== "system")) {
    return [...messages];
  }
  const known = new Set(
    entries.flatMap(({ message }) => (roleOf(message) === "system" ? [jsonText(message.content)] : [])),
  );
  return messages.filter((message) => roleOf(message) !== "system" || !known.has(jsonText(message.content)));
}

interface PlainHistory {
  readonly session: ConversationSession;
  readonly view: DecodedView;
  readonly earlier: readonly Utterance[];
  readonly asked: BaseMessage | undefined;
}

/** A part of the transcript that a client holds. */
interface Found {
  /** Position of the question, if it is stored behind the part. */
  readonly first: number | undefined;
  /** How many of the client's utterances are stored. */
  readonly held: number;
  /** The messages stored up to the end of the part. */
  readonly upTo: readonly StoredEntry[];
  /** The messages stored behind it. */
  readonly behind: readonly StoredEntry[];
}

/** How many utterances a client may be ahead: those of turns that failed or were stopped, and left nothing. */
const mostAhead = 8;

/**
 * Compares what was said before a question with the end of the transcript; else with what was said before its last
 * question (a client that never got the answer); else with any part that was read (others have asked since); else the
 * beginning of it with the end of the transcript (a client that holds what was never stored).
 */
async function samePlainHistory(request: PlainHistory): Promise<Found | undefined> {
  const { session, view, earlier: held } = request;
  const { base } = view.stored;
  for (const from of held.length === 0 ? [] : reaches(request)) {
    const inView = view.entries.filter(({ position }) => position !== undefined);
    const read = from === undefined ? inView : inTurnOrder(await session.readEntries({ from }));
    const said = read.filter(({ message }) => isSpoken(message) || isWordless(message));
    const isAll = (from ?? view.stored.start) <= base;
    const stored = utterancesOf(said.map(({ message }) => message));
    const compared = { held, stored, isCut: isAll && base > 0 };
    const found = atEnd(request, said, compared) ?? partBehind(request, said, compared);
    if (found !== "more" && found !== undefined) {
      return found;
    }
    if (isAll || (found === undefined && from !== undefined && stored.length > held.length + 1)) {
      return beginningAtEnd(compared);
    }
  }
  return undefined;
}

/** The end of the transcript, or of what was said before its last question where that is asked again. */
function atEnd({ asked }: PlainHistory, said: readonly StoredEntry[], compared: Compared): Found | undefined {
  const { stored, held } = compared;
  const messages = said.map(({ message }) => message);
  const question = said.findLastIndex(({ message }) => roleOf(message) === "human");
  const before = utterancesOf(messages.slice(0, Math.max(0, question)));
  const last = firstAsked(said.slice(question, question + 1), asked);
  const all = { held: held.length, ...splitAt(said, stored.at(-1)?.end) };
  for (const isAlike of [isEqual, isHeld]) {
    if (endsAlike(compared, isAlike)) {
      return { ...all, first: firstAsked(all.behind, asked) };
    }
    if (last !== undefined && endsAlike({ ...compared, stored: before }, isAlike)) {
      return { ...all, first: last };
    }
  }
  const joined = utterancesOf(messages, { isJoined: true });
  return endsAlike({ ...compared, stored: joined }, isHeld) ? { ...all, first: undefined } : undefined;
}

function splitAt(said: readonly StoredEntry[], end = 0): Pick<Found, "upTo" | "behind"> {
  return { upTo: said.slice(0, end), behind: said.slice(end) };
}

/**
 * The last match anywhere in the transcript: the questions right behind it have no answer, or their own. `more` where
 * the end of it was found, and the rest may stand before what was read.
 */
function partBehind(
  { asked }: PlainHistory,
  said: readonly StoredEntry[],
  compared: Compared,
): Found | "more" | undefined {
  const match = lastMatch(compared);
  if (match === undefined || asked === undefined) {
    return undefined;
  }
  if (!match.isWhole && !compared.isCut) {
    return "more";
  }
  const parts = splitAt(said, compared.stored[match.end - 1]!.end);
  const answer = parts.behind.findIndex(({ message }) => roleOf(message) !== "human");
  const open = answer < 0 ? parts.behind : parts.behind.slice(0, answer);
  return { first: firstAsked(open, asked), held: compared.held.length, ...parts };
}

/** The longest beginning of what the client holds with which the transcript ends. */
function beginningAtEnd(compared: Compared): Found | undefined {
  const { held } = compared;
  for (let length = held.length - 1; length >= Math.max(1, held.length - mostAhead); length -= 1) {
    if (endsAlike({ ...compared, held: held.slice(0, length) }, isHeld)) {
      return { first: undefined, held: length, upTo: [], behind: [] };
    }
  }
  return undefined;
}

/** The newest questions, no more than are given, if nobody has answered them. */
function openIn({ entries }: DecodedView, given: readonly BaseMessage[]): readonly StoredEntry[] {
  const answer = entries.findLastIndex(({ message }) => !["human", "system"].includes(roleOf(message)));
  const open = entries.slice(answer + 1).filter(({ message }) => roleOf(message) === "human");
  return open.slice(Math.max(0, open.length - given.filter((message) => roleOf(message) === "human").length));
}

/**
 * How many messages in front of a question are stored behind what the client holds, in their order: it got no answer.
 * One that was said before too may be said with each question, and is new.
 */
function askedAgain(
  messages: readonly BaseMessage[],
  { upTo = [], behind }: Partial<Found> & Pick<Found, "behind">,
): number {
  let [count, from] = [0, 0];
  for (const [index, message] of messages.entries()) {
    if (roleOf(message) === "human") {
      const isSame = (entry: StoredEntry) => asksTheSame(entry.message, message);
      const at = upTo.some(isSame) ? -1 : behind.slice(from).findIndex(isSame);
      if (at < 0) {
        break;
      }
      [count, from] = [index + 1, from + at + 1];
    }
  }
  return count;
}

/** Position of the first entry that asks the same. */
function firstAsked(entries: readonly StoredEntry[], asked: BaseMessage | undefined): number | undefined {
  return asked && entries.find(({ message }) => asksTheSame(message, asked))?.position;
}

/** True for the same question in words and in what stands beside them. */
function asksTheSame(a: BaseMessage, b: BaseMessage): boolean {
  return roleOf(a) === roleOf(b) && wordsOf(a) === wordsOf(b) && sameAsJson(besideWords(a), besideWords(b));
}

/** Allowance for messages that a client may not hold: calls, results and instructions. */
const slack = 50;

/** Ranges to compare, cheapest first: the messages already read, about as many as the client holds, all. */
function reaches({ view, earlier }: PlainHistory): (number | undefined)[] {
  const { base, start, next } = view.stored;
  const wanted = next - 2 * earlier.length - slack;
  return start <= base ? [undefined] : [undefined, ...(wanted > base && wanted < start ? [wanted] : []), base];
}

/** True for user and AI text, which client and server both hold. */
function isSpoken(message: BaseMessage): boolean {
  const role = roleOf(message);
  return (role === "human" || role === "ai") && textOf(message).trim() !== "";
}

/** True for a question without words: a picture, or what was said aloud. A client may hold earlier ones no longer. */
function isWordless(message: BaseMessage): boolean {
  return roleOf(message) === "human" && !isSpoken(message);
}

/** Pictures, files and other parts without text. */
function besideWords(message: BaseMessage): readonly Block[] {
  return blocksOf(message).filter((block) => !isBlankText(block) && blockText(block) === "");
}
