import type { BaseMessage } from "@langchain/core/messages";
import { jsonText, sameAsJson } from "../../base/json-text.js";
import { type Block, blocksOf, blockText, isBlankText, textOf } from "../../conversation/messages/content.js";
import { roleOf, summaryMarkOf } from "../../conversation/messages/message.js";
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
 * whose id is stored; without one, what ends with the transcript's last question, told by words, and with its answer; a
 * question without that answer is asked again. In a session that is not empty, any other history brings its last
 * question only. A system message that is in the view is not new.
 */
export async function newInput(request: InputRequest): Promise<NewInput> {
  const { session, input } = request;
  const { forms } = session.context;
  if (forms === undefined || (input.length === 1 && roleOf(input[0]!) === "human")) {
    return sortInput(request);
  }
  // Compares stored forms; new messages are returned as given.
  const compared = await comparableForms(input, forms);
  const originals = new Map(compared.map((form, index) => [form, input[index]!]));
  const result = await sortInput({ ...request, input: compared });
  return { ...result, newMessages: result.newMessages.map((form) => originals.get(form)!) };
}

async function sortInput({ session, view, positions, input }: InputRequest): Promise<NewInput> {
  const positionOf = ({ id }: BaseMessage) => (id === undefined ? undefined : positions.get(id));
  const question = input.findLastIndex((message) => roleOf(message) === "human");
  const from = input.findLastIndex((message) => positionOf(message) !== undefined) + 1;
  const lastStored = from === 0 ? undefined : positionOf(input[from - 1]!);
  const isKnown = question >= 0 && question < from;
  const part = isKnown
    ? { end: 0, position: positionOf(input[question]!) ?? lastStored }
    : await knownPart({ session, rest: input.slice(from), question: question - from, view, lastStored });
  const behind = input.slice(from).filter((message, index) => index >= part.end || roleOf(message) === "system");
  const block = part.position === undefined ? [] : input.slice(firstOfBlock(input, question), question);
  const questions = block.filter((message) => roleOf(message) === "human").length;
  const place = part.position === undefined ? undefined : { first: part.position - questions, last: part.position };
  return { newMessages: withoutKnownSystems(behind, view), place };
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
  const contents = new Set(
    entries.flatMap(({ message }) => (roleOf(message) === "system" ? [jsonText(message.content)] : [])),
  );
  return messages.filter((message) => roleOf(message) !== "system" || !contents.has(jsonText(message.content)));
}

interface PartRequest extends Pick<InputRequest, "session" | "view"> {
  /** Messages behind the last one whose id is stored, and the index of the question among them. */
  readonly rest: readonly BaseMessage[];
  readonly question: number;
  /** The position of that message. */
  readonly lastStored: number | undefined;
}

/** How far the rest of an input is known by its questions, and the position of the last one if that is. */
async function knownPart(request: PartRequest): Promise<{ readonly end: number; readonly position?: number }> {
  const { rest, question, lastStored, view } = request;
  const log = await storedBehind(request);
  const [held, stored] = [questionsOf(rest), questionsOf(log.map(({ message }) => message)).slice(-farthest)];
  const last = stored.at(-1);
  // Beside known ids, a question under another one is another question.
  const isSame = (own: Question, { words, parts }: Question) =>
    (lastStored === undefined || own.id === undefined) && own.words === words && sameAsJson(own.parts, parts);
  // Questions up to which the stored ones end alike, compared as far as both go back. Linear.
  const ends = held.filter((_, index) => {
    const compared = held.slice(Math.max(0, index + 1 - stored.length), index + 1);
    return compared.every((own, at) => isSame(own, stored.at(at - compared.length)!));
  });
  const isAgain = lastStored !== undefined || held.some(({ isAnswered }) => isAnswered);
  const match =
    ends.findLast(({ isAnswered }) => isAnswered === last?.isAnswered) ?? (isAgain ? ends.at(-1) : undefined);
  if (last !== undefined && match !== undefined) {
    const end = last.isAnswered ? match.end : match.index + 1;
    return match.index === question ? { end, position: log[last.index]!.position! } : { end };
  }
  const isAllNew = lastStored !== undefined || view.stored.next === 0 || question < 0 || !rest.some(isOfAnswer);
  // Behind a question whose id is stored, a client may hold the answer under an id of its own.
  const hasCopy = lastStored !== undefined && log[0] !== undefined && isOfAnswer(log[0].message);
  const begin = hasCopy ? rest.findIndex((message) => !isOfAnswer(message)) : 0;
  return { end: isAllNew ? (begin < 0 ? rest.length : begin) : firstOfBlock(rest, question) };
}

/** How many of the newest messages are compared, and read where the view holds copies only. */
const farthest = 100;

/** The stored messages behind a position; a copy in the head does not tell what the log holds behind it. */
async function storedBehind({ session, view, lastStored = -1 }: PartRequest): Promise<readonly StoredEntry[]> {
  const { all, stored } = view;
  if (lastStored < 0 && stored.start === stored.next && stored.base < stored.next) {
    return inTurnOrder(await session.readEntries({ from: Math.max(stored.base, stored.next - farthest) }));
  }
  const at = all.findIndex(({ position }) => position === lastStored);
  return all.slice(at + 1).filter(({ position = -1 }) => position > (at < 0 ? lastStored : -1));
}

function isOfAnswer(message: BaseMessage): boolean {
  return roleOf(message) === "ai" || roleOf(message) === "tool";
}

interface Question {
  readonly id: string | undefined;
  readonly words: string;
  /** Its parts without text: pictures and files. */
  readonly parts: readonly Block[];
  readonly index: number;
  readonly isAnswered: boolean;
  /** Index behind the last words of its answer; without one, behind the question. */
  readonly end: number;
}

function questionsOf(messages: readonly BaseMessage[]): Question[] {
  const questions: Question[] = [];
  for (const [index, message] of messages.entries()) {
    const [text, before, end] = [textOf(message).trim(), questions.at(-1), index + 1];
    if (roleOf(message) === "human" && summaryMarkOf(message) === undefined) {
      const words = text.normalize("NFC").replaceAll("\r\n", "\n");
      const parts = blocksOf(message).filter((block) => !isBlankText(block) && blockText(block) === "");
      questions.push({ id: message.id, words, parts, index, isAnswered: false, end });
    } else if (before !== undefined && roleOf(message) === "ai" && text !== "") {
      questions.splice(-1, 1, { ...before, isAnswered: true, end });
    }
  }
  return questions;
}
