import type { BaseMessage } from "@langchain/core/messages";
import { jsonText, sameAsJson } from "../base/json-text.js";
import { type Block, blocksOf, blockText, isBlankText, textOf } from "../messages/content.js";
import { roleOf, summaryMarkOf } from "../messages/roles.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { comparableForms } from "../session/stored-forms.js";
import { inTurnOrder, type DecodedView, type StoredEntry } from "../session/view.js";

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
 * Finds the new messages of an input that may be a client's whole history. Known is what stands up to the last message
 * whose id is stored; without one, what ends where the transcript ends, told by words, or with its last question, which
 * is then asked again. In a session that is not empty, any other history brings its last question only. A system
 * message that is in the view is not new.
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
  const positionOf = ({ id }: BaseMessage) => (id === undefined ? undefined : positions.get(id));
  const question = input.findLastIndex((message) => roleOf(message) === "human");
  const from = input.findLastIndex((message) => positionOf(message) !== undefined) + 1;
  const known = from === 0 ? undefined : positionOf(input[from - 1]!);
  const isKnown = question >= 0 && question < from;
  const part = isKnown
    ? { end: from, asked: positionOf(input[question]!) ?? known }
    : await knownPart({ session, rest: input.slice(from), question: question - from, view, known });
  const end = isKnown ? from : from + part.end;
  const systems = input.slice(from, end).filter((message) => roleOf(message) === "system");
  const newMessages = withoutKnownSystems([...systems, ...input.slice(end)], view);
  const block = part.asked === undefined ? [] : input.slice(firstOfBlock(input, question), question);
  const questions = block.filter((message) => roleOf(message) === "human").length;
  const place = part.asked === undefined ? undefined : { first: part.asked - questions, last: part.asked };
  return { newMessages, place };
}

/** Index of the first message of the block of user and system messages that ends with a question. */
export function firstOfBlock(input: readonly BaseMessage[], question: number): number {
  let first = question;
  while (first > 0 && ["human", "system"].includes(roleOf(input[first - 1]!))) {
    first -= 1;
  }
  return first;
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

interface PartRequest extends Pick<InputRequest, "session" | "view"> {
  /** Messages behind the last one whose id is stored, and the index of the question among them. */
  readonly rest: readonly BaseMessage[];
  readonly question: number;
  /** The position of that message. */
  readonly known: number | undefined;
}

/** How far the rest of an input is known by its words, and the position of its question if that is. */
async function knownPart(request: PartRequest): Promise<{ readonly end: number; readonly asked?: number }> {
  const { rest, question, known } = request;
  const log = await storedBehind(request);
  const messages = log.map(({ message }) => message);
  // Behind a question whose id is stored, a client may hold the answer under an id of its own.
  const hasCopy = known !== undefined && messages[0] !== undefined && isOfAnswer(messages[0]);
  const begin = hasCopy ? endOfAnswer(rest) : 0;
  const held = spoken(rest, begin);
  const stored = spoken(messages, hasCopy ? endOfAnswer(messages) : 0);
  const last = stored.findLastIndex(({ isAnswer }) => !isAnswer);
  // Beside known ids, a question under another one is another question.
  const isTold = ({ id }: Spoken) => known === undefined || id === undefined;
  const isFirst = known === undefined && !held.some(({ isAnswer }) => isAnswer);
  let count = upToEnd(held, stored, isTold);
  if (count === 0 && !isFirst) {
    count = upToEnd(held, stored.slice(0, last + 1), isTold);
    // A client may hold something else for the last answer.
    count += count > 0 && held[count]?.isAnswer ? 1 : 0;
  }
  const isAllNew = isFirst || known !== undefined || request.view.stored.next === 0 || question < 0;
  const end = held[count - 1]?.end ?? (isAllNew ? begin : firstOfBlock(rest, question));
  return question >= 0 && end > question ? { end, asked: log[stored[last]!.end - 1]!.position! } : { end };
}

/** How many of the newest messages are compared, and read where the view holds copies only. */
const farthest = 100;

/** The stored messages behind a position; a copy in the head does not tell what the log holds behind it. */
async function storedBehind({ session, view, known = -1 }: PartRequest): Promise<readonly StoredEntry[]> {
  const { all, stored } = view;
  if (known < 0 && stored.start === stored.next && stored.base < stored.next) {
    return inTurnOrder(await session.readEntries({ from: Math.max(stored.base, stored.next - farthest) }));
  }
  const at = all.findIndex(({ position }) => position === known);
  return all.slice(at + 1).filter(({ position = -1 }) => position > (at < 0 ? known : -1));
}

/** Index of the first message that is of no answer. */
function endOfAnswer(messages: readonly BaseMessage[]): number {
  const end = messages.findIndex((message) => !isOfAnswer(message));
  return end < 0 ? messages.length : end;
}

function isOfAnswer(message: BaseMessage): boolean {
  return roleOf(message) === "ai" || roleOf(message) === "tool";
}

/** A question, or an answer with the words beside its calls. */
interface Spoken {
  readonly isAnswer: boolean;
  readonly id: string | undefined;
  /** Its words, whatever the form of its letters and line ends; of an answer without white space. */
  words: string;
  /** The words of its last message. */
  last: string;
  /** The parts of a question without text: pictures and files. */
  readonly parts: readonly Block[];
  /** Index in the list behind its last message. */
  end: number;
}

function spoken(messages: readonly BaseMessage[], from: number): Spoken[] {
  const found: Spoken[] = [];
  for (let index = from; index < messages.length; index += 1) {
    const message = messages[index]!;
    const text = textOf(message).trim().normalize("NFC");
    const [end, before, id] = [index + 1, found.at(-1), message.id];
    if (roleOf(message) === "human" && summaryMarkOf(message) === undefined) {
      const words = text.replaceAll("\r\n", "\n");
      const parts = blocksOf(message).filter((block) => !isBlankText(block) && blockText(block) === "");
      found.push({ isAnswer: false, id, words, last: words, parts, end });
    } else if (roleOf(message) === "ai" && text !== "") {
      // Clients join the parts of an answer in their own ways.
      const words = text.replaceAll(/\s+/g, "");
      if (before?.isAnswer) {
        Object.assign(before, { words: before.words + words, last: words, end });
      } else {
        found.push({ isAnswer: true, id: undefined, words, last: words, parts: [], end });
      }
    }
  }
  return found;
}

/** How many of the held ones stand up to where the stored ones end, compared as far as both go back. Linear. */
function upToEnd(held: readonly Spoken[], stored: readonly Spoken[], isTold: (one: Spoken) => boolean): number {
  const isSame = (own: Spoken, other: Spoken) =>
    own.isAnswer ? isCopy(own, other) : isTold(own) && asksTheSame(own, other);
  for (let count = stored.length === 0 ? 0 : held.length; count > 0; count -= 1) {
    const compared = Math.min(count, stored.length, farthest);
    let back = 1;
    while (back <= compared && isSame(held[count - back]!, stored[stored.length - back]!)) {
      back += 1;
    }
    if (back > compared) {
      return count;
    }
  }
  return 0;
}

function asksTheSame(own: Spoken, { isAnswer, words, parts }: Spoken): boolean {
  const hasParts = own.parts.length + parts.length > 0;
  return !isAnswer && own.words === words && (!hasParts || sameAsJson(own.parts, parts));
}

/** True for an answer's words with or without those beside its calls, or as many as a client got before a Stop. */
function isCopy(own: Spoken, stored: Spoken): boolean {
  return stored.isAnswer && (own.words.endsWith(stored.last) || stored.words.startsWith(own.words));
}
