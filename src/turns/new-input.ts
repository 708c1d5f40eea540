import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf, blockText, isBlankText, textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { comparableForms } from "../session/stored-forms.js";
import { inTurnOrder, type DecodedView, type StoredEntry } from "../session/view.js";
import { jsonText, sameJson } from "../base/json-text.js";

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
 * part of the transcript, preferably its end (others may have asked since). A system message that is in the view is not
 * new. One more round trip if the comparison needs messages that left the view, two if many calls lie between them.
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
  const found = await samePlainHistory({
    session,
    view,
    earlier: spoken(input.slice(0, block)),
    asked: input[question],
  });
  const isKnown = found !== undefined;
  const systems = input.slice(0, isKnown ? block : 0).filter((message) => roleOf(message) === "system");
  const newMessages = withoutKnownSystems([...systems, ...input.slice(isKnown ? block : 0)], view);
  const first = found?.first;
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

/** Drops messages equal to those stored behind the last known one: a client may use other ids for answers. */
function withoutStored(rest: readonly BaseMessage[], view: DecodedView, lastKnown: number): BaseMessage[] {
  const at = view.entries.findIndex(({ position }) => position === lastKnown);
  const isBehind = ({ position = -1 }: StoredEntry, index: number) => (at < 0 ? position > lastKnown : index > at);
  const stored = spoken(view.entries.filter(isBehind).map(({ message }) => message));
  const question = rest.findLastIndex((message) => roleOf(message) === "human");
  // A question under an id that is not stored is new, also where another one that says the same is stored there.
  const most = Math.min(question < 0 ? rest.length : question, stored.length);
  let index = 0;
  while (index < most && saysTheSame(rest[index]!, stored[index]!)) {
    index += 1;
  }
  return rest.slice(index);
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
  readonly earlier: readonly BaseMessage[];
  readonly asked: BaseMessage | undefined;
}

/**
 * Compares the messages before a question with the end of the transcript; else with the messages before its last
 * question (a client that never got the answer); else with any part that was read (others have asked since). `first` is
 * the position of the question, if it is stored behind the match; undefined without a match.
 */
async function samePlainHistory(request: PlainHistory): Promise<{ readonly first: number | undefined } | undefined> {
  const { session, view, earlier, asked } = request;
  const { base } = view.stored;
  for (const from of earlier.length === 0 ? [] : reaches(request)) {
    const inView = view.entries.filter(({ position }) => position !== undefined);
    const read = from === undefined ? inView : inTurnOrder(await session.readEntries({ from }));
    const said = read.filter(({ message }) => isSpoken(message) || isWordless(message));
    const stored = said.filter(({ message }) => isSpoken(message));
    const isAll = (from ?? view.stored.start) <= base;
    const match = { earlier, isCut: isAll && base > 0 };
    if (endsWith(stored, match)) {
      return { first: firstAsked(entriesBehind(said, stored.at(-1)), asked) };
    }
    const question = said.findLastIndex(({ message }) => roleOf(message) === "human");
    const before = said.slice(0, Math.max(0, question)).filter(({ message }) => isSpoken(message));
    const last = firstAsked(said.slice(question, question + 1), asked);
    if (last !== undefined && endsWith(before, match)) {
      return { first: last };
    }
    const part = partBehind(said, earlier, asked);
    if (part !== undefined || isAll || before.length >= earlier.length) {
      return part;
    }
  }
  return undefined;
}

/** The last match anywhere in the transcript: the questions right behind it have no answer, or their own. */
function partBehind(
  said: readonly StoredEntry[],
  earlier: readonly BaseMessage[],
  asked: BaseMessage | undefined,
): { readonly first: number | undefined } | undefined {
  const stored = said.filter(({ message }) => isSpoken(message));
  const end = endOfLast(
    stored.map(({ message }) => spokenKey(message)),
    earlier.map(spokenKey),
  );
  if (end === undefined || asked === undefined) {
    return undefined;
  }
  const behind = entriesBehind(said, stored[end - 1]);
  const answer = behind.findIndex(({ message }) => roleOf(message) !== "human");
  return { first: firstAsked(answer < 0 ? behind : behind.slice(0, answer), asked) };
}

/** Entries behind one of them; all without one. */
function entriesBehind(entries: readonly StoredEntry[], entry: StoredEntry | undefined): readonly StoredEntry[] {
  return entries.slice(entry === undefined ? 0 : entries.indexOf(entry) + 1);
}

/** Position of the first entry that asks the same, in words and in what stands beside them. */
function firstAsked(entries: readonly StoredEntry[], asked: BaseMessage | undefined): number | undefined {
  const isSame = ({ message }: StoredEntry) =>
    asked !== undefined && saysTheSame(message, asked) && sameJson(besideWords(message), besideWords(asked));
  return entries.find(isSame)?.position;
}

/** End index of the last occurrence of a sublist; undefined if there is none. Linear. */
function endOfLast(list: readonly string[], part: readonly string[]): number | undefined {
  // Knuth-Morris-Pratt failure table: length of the longest border of each prefix.
  const borders: number[] = [];
  let found: number | undefined;
  const advance = (matched: number, text: string) => {
    let length = matched;
    while (length > 0 && part[length] !== text) {
      length = borders[length - 1]!;
    }
    return part[length] === text ? length + 1 : 0;
  };
  part.forEach((text, index) => borders.push(index === 0 ? 0 : advance(borders[index - 1]!, text)));
  let matched = 0;
  list.forEach((text, index) => {
    matched = advance(matched, text);
    found = matched === part.length ? index + 1 : found;
  });
  return found;
}

/** Allowance for messages that a client may not hold: calls, results and instructions. */
const slack = 50;

/** Ranges to compare, cheapest first: the messages already read, about as many as the client holds, all. */
function reaches({ view, earlier }: PlainHistory): (number | undefined)[] {
  const { base, start, next } = view.stored;
  const wanted = next - 2 * earlier.length - slack;
  return start <= base ? [undefined] : [undefined, ...(wanted > base && wanted < start ? [wanted] : []), base];
}

/** Compares the ends; for a log whose beginning was discarded (`isCut`), as far as the log reaches. */
function endsWith(
  stored: readonly StoredEntry[],
  { earlier, isCut }: { readonly earlier: readonly BaseMessage[]; readonly isCut: boolean },
): boolean {
  const length = isCut ? Math.min(stored.length, earlier.length) : earlier.length;
  const [inStored, inEarlier] = [stored.length - length, earlier.length - length];
  return (
    inStored >= 0 &&
    earlier.slice(inEarlier).every((message, at) => saysTheSame(message, stored[inStored + at]!.message))
  );
}

function spoken(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.filter(isSpoken);
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

function saysTheSame(a: BaseMessage, b: BaseMessage): boolean {
  return spokenKey(a) === spokenKey(b);
}

function spokenKey(message: BaseMessage): string {
  return `${roleOf(message)}: ${textOf(message).trim()}`;
}

/** Pictures, files and other parts without text. */
function besideWords(message: BaseMessage): readonly Block[] {
  return blocksOf(message).filter((block) => !isBlankText(block) && blockText(block) === "");
}
