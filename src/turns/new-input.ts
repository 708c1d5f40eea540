import type { BaseMessage } from "@langchain/core/messages";
import { type Block, blocksOf, blockText, isBlankText } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";
import type { ConversationSession } from "../session/conversation-session.js";
import { comparableForms } from "../session/stored-forms.js";
import { inTurnOrder, type DecodedView, type StoredEntry } from "../session/view.js";
import { jsonText, sameAsJson } from "../base/json-text.js";
import { lastShared, spokenRounds, wordsOf } from "./spoken-rounds.js";

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
 * whose id is stored, and from there on up to the last answer that is stored with its question, told by their words;
 * then what repeats the stored questions in their order. The input's question may be the next of these: then it is
 * asked again. A system message that is in the view is not new. One more round trip if the view holds none of the
 * client's answers and begins behind the log.
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

async function sortInput(request: InputRequest): Promise<NewInput> {
  const { view, positions, input } = request;
  const question = input.findLastIndex((message) => roleOf(message) === "human");
  const positionOf = ({ id }: BaseMessage) => (id === undefined ? undefined : positions.get(id));
  const lastKnown = input.findLastIndex((message) => positionOf(message) !== undefined);
  if (lastKnown >= 0 && question >= 0 && lastKnown >= question) {
    const block = input.slice(firstOfBlock(input, question), question + 1);
    const last = positionOf(input[question]!) ?? positionOf(input[lastKnown]!)!;
    const place = { first: firstPosition(block.map(positionOf)) ?? last, last };
    return { newMessages: withoutKnownSystems(input.slice(lastKnown + 1), view), place };
  }
  const known = lastKnown < 0 ? undefined : positionOf(input[lastKnown]!)!;
  const { from, behind } = await knownPart({ ...request, from: lastKnown + 1, known, question });
  const asked = askedAgain(input, { from, question }, behind);
  // A question under an id is the one that is stored under it.
  const place = known === undefined || input[question]?.id === undefined ? asked.place : undefined;
  const end = place === undefined ? asked.from : question + 1;
  const systems = input.slice(lastKnown + 1, end).filter((message) => roleOf(message) === "system");
  const newMessages = withoutKnownSystems([...systems, ...input.slice(end)], view);
  return { newMessages, place: place === undefined ? undefined : { first: place, last: place } };
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

function withoutKnownSystems(messages: readonly BaseMessage[], { entries }: DecodedView): BaseMessage[] {
  if (messages.every((message) => roleOf(message) !== "system")) {
    return [...messages];
  }
  const known = new Set(
    entries.flatMap(({ message }) => (roleOf(message) === "system" ? [jsonText(message.content)] : [])),
  );
  return messages.filter((message) => roleOf(message) !== "system" || !known.has(jsonText(message.content)));
}

/** How far an input is stored: up to `from`, and the stored messages behind that. */
interface KnownPart {
  readonly from: number;
  readonly behind: readonly StoredEntry[];
}

interface PartRequest extends InputRequest {
  /** Index behind the last message whose id is stored, and its position. */
  readonly from: number;
  readonly known: number | undefined;
  readonly question: number;
}

/** The part of an input up to its last answer that is stored with its question. */
async function knownPart({ session, view, input, from, known, question }: PartRequest): Promise<KnownPart> {
  const end = question < 0 ? input.length : question;
  const held = spokenRounds(input.slice(from, end));
  const within = (entries: readonly StoredEntry[]): KnownPart | undefined => {
    const shared = lastShared(held, spokenRounds(entries.map(({ message }) => message)));
    // A copy in the head does not tell what the log holds behind it.
    return shared === undefined || entries[shared.stored.end - 1]!.position === undefined
      ? undefined
      : { from: from + shared.held.end, behind: entries.slice(shared.stored.end) };
  };
  const { base, start, next } = view.stored;
  const hasAnswer = held.some(({ said }) => said !== "");
  const ofView = known !== undefined ? entriesBehind(view, known) : hasAnswer ? view.all : openEnd(view);
  const first = Math.max(base, next - farthest);
  const found = within(ofView);
  if (found !== undefined || known !== undefined || !hasAnswer) {
    return found ?? { from, behind: ofView };
  }
  const entries = first >= start ? ofView : inTurnOrder(await session.readEntries({ from: first }));
  // A client may hold what was discarded of the log.
  return within(entries) ?? { from: base > 0 && first === base ? end : from, behind: entries };
}

/** How many of the newest messages of a log are compared, where the view does not hold what the client does. */
const farthest = 500;

function entriesBehind({ all }: DecodedView, known: number): readonly StoredEntry[] {
  const at = all.findIndex(({ position }) => position === known);
  return at < 0 ? all.filter(({ position = -1 }) => position > known) : all.slice(at + 1);
}

/** The newest messages behind the last answer. */
function openEnd({ all }: DecodedView): readonly StoredEntry[] {
  return all.slice(all.findLastIndex(isOfAnswer) + 1);
}

function isOfAnswer({ message }: StoredEntry): boolean {
  return roleOf(message) === "ai" || roleOf(message) === "tool";
}

/**
 * The questions behind the known part that are stored, too, each with what the client holds for its stored answer;
 * `place` where the next one is the input's question, and nobody has answered another one in between.
 */
function askedAgain(
  input: readonly BaseMessage[],
  part: { readonly from: number; readonly question: number },
  behind: readonly StoredEntry[],
): { readonly from: number; readonly place?: number | undefined } {
  const { question } = part;
  let [from, at] = [part.from, 0];
  const next = (isIt: (entry: StoredEntry) => boolean, first = at) => {
    const found = behind.slice(first).findIndex(isIt);
    return found < 0 ? behind.length : first + found;
  };
  const isHuman = ({ message }: StoredEntry) => roleOf(message) === "human";
  for (const message of input.slice(from, Math.max(from, question))) {
    if (roleOf(message) === "human") {
      const found = next((entry) => asksTheSame(entry.message, message));
      if (found === behind.length) {
        return { from };
      }
      at = found + 1;
    } else if (roleOf(message) === "ai" && (from === 0 || next(isOfAnswer) >= next(isHuman))) {
      return { from };
    }
    from += 1;
  }
  const start = from > part.from && roleOf(input[from - 1]!) === "ai" ? next(isHuman) : at;
  const open = behind.slice(start, next(isOfAnswer, start));
  const asked = input[question];
  return { from, place: asked && open.find(({ message }) => asksTheSame(message, asked))?.position };
}

/** True for the same question in words and in what stands beside them. */
function asksTheSame(a: BaseMessage, b: BaseMessage): boolean {
  return roleOf(a) === roleOf(b) && wordsOf(a) === wordsOf(b) && sameAsJson(besideWords(a), besideWords(b));
}

/** Pictures, files and other parts without text. */
function besideWords(message: BaseMessage): readonly Block[] {
  return blocksOf(message).filter((block) => !isBlankText(block) && blockText(block) === "");
}
