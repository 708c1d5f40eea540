import type { BaseMessage } from "@langchain/core/messages";
import { isInterrupted } from "../codec/message-ids.js";
import { mayCall } from "../messages/calls.js";
import { textOf } from "../messages/content.js";
import { roleOf } from "../messages/roles.js";

/** The words of one side before the other one speaks: a question, or an answer with the texts beside its calls. */
export class Utterance {
  /** Index in the list behind the last message of it. */
  end = 0;
  readonly #messages: BaseMessage[] = [];
  #words: Words | undefined;

  constructor(readonly role: "human" | "ai") {}

  add(message: BaseMessage, index: number): void {
    this.#messages.push(message);
    this.end = index + 1;
  }

  /** The texts as they are, one behind the other. */
  get text(): string {
    return this.#messages.map((message) => textOf(message).trim()).join("");
  }

  /** The texts as they are compared. Made when first asked for: most are told by their text, at a tenth of the time. */
  get words(): Words {
    this.#words ??= wordsIn(this.#messages);
    return this.#words;
  }

  get isInterrupted(): boolean {
    return this.#messages.some(isInterrupted);
  }
}

interface Words {
  readonly all: string;
  /** The indices in `all` at which its texts begin. */
  readonly starts: ReadonlySet<number>;
  /** The indices of texts right behind a text beside a call. */
  readonly behindCalls: readonly number[];
}

function wordsIn(messages: readonly BaseMessage[]): Words {
  const texts = messages.map(wordsOf);
  const [starts, behindCalls]: [Set<number>, number[]] = [new Set(), []];
  let length = 0;
  texts.forEach((text, index) => {
    starts.add(length);
    if (index > 0 && mayCall(messages[index - 1]!)) {
      behindCalls.push(length);
    }
    length += text.length;
  });
  return { all: texts.join(""), starts, behindCalls };
}

/**
 * The utterances of messages, for comparing what a client holds with what is stored. A question without words (a
 * picture) is none, and ends an answer unless `isJoined`: a client may not hold it.
 */
export function utterancesOf(messages: readonly BaseMessage[], { isJoined = false } = {}): Utterance[] {
  const utterances: Utterance[] = [];
  let open: Utterance | undefined;
  messages.forEach((message, index) => {
    const role = roleOf(message);
    if (role !== "human" && role !== "ai") {
      return;
    }
    if (textOf(message).trim() === "") {
      open = role === "human" && !isJoined ? undefined : open;
      return;
    }
    const utterance: Utterance = role === "ai" && open !== undefined ? open : new Utterance(role);
    if (utterance !== open) {
      utterances.push(utterance);
    }
    utterance.add(message, index);
    open = role === "ai" ? utterance : undefined;
  });
  return utterances;
}

/**
 * The words of a message as they are compared: whatever the form of its letters and line ends, and of an answer without
 * white space, by which clients join its parts.
 */
export function wordsOf(message: BaseMessage): string {
  const text = textOf(message).trim().normalize("NFC");
  return roleOf(message) === "ai" ? text.replaceAll(/\s+/g, "") : text.replaceAll("\r\n", "\n");
}

function keyOf({ role, words }: Utterance): string {
  return `${role}: ${words.all}`;
}

/**
 * True if a client's utterance may be the stored one. A client may hold all of an answer, or its end without the texts
 * beside earlier calls, or as much of either as it got before a Stop; and more than is stored of a stopped answer.
 */
export function isHeld(client: Utterance, stored: Utterance): boolean {
  if (isEqual(client, stored)) {
    return true;
  }
  if (client.role === "human" || stored.role === "human") {
    return false;
  }
  const held = client.words.all;
  const { all: said, behindCalls } = stored.words;
  const isEnd = behindCalls.includes(said.length - held.length) && said.endsWith(held);
  const isBeginning = said.startsWith(held) || said.startsWith(held, behindCalls.at(-1));
  return isBeginning || isEnd || (stored.isInterrupted && held.startsWith(said));
}

/** True if an answer is the end of another one, as where a history was cut in between. */
function isEndOf(end: Utterance, whole: Utterance): boolean {
  if (end.role !== "ai" || whole.role !== "ai") {
    return false;
  }
  const { all, starts } = whole.words;
  return starts.has(all.length - end.words.all.length) && all.endsWith(end.words.all);
}

/** A client's utterances, and the stored ones that they are compared with. */
export interface Compared {
  readonly held: readonly Utterance[];
  readonly stored: readonly Utterance[];
  /** True if the beginning of the log was discarded: what the client holds may begin before it. */
  readonly isCut: boolean;
}

/** True for the same words of the same side. */
export function isEqual(client: Utterance, stored: Utterance): boolean {
  return client.role === stored.role && (client.text === stored.text || client.words.all === stored.words.all);
}

/** True if what is stored ends with what the client holds; for a cut log, as far as that reaches. */
export function endsAlike({ held, stored, isCut }: Compared, isAlike: typeof isHeld): boolean {
  const length = isCut ? Math.min(stored.length, held.length) : held.length;
  const [inStored, inHeld] = [stored.length - length, held.length - length];
  return (
    inStored >= 0 &&
    held.slice(inHeld).every((utterance, at) => {
      const there = stored[inStored + at]!;
      // A client may hold only the end of the first answer, and retention may have left only that.
      const isCutOff = () => (inHeld === 0 && isEndOf(utterance, there)) || (isCut && isEndOf(there, utterance));
      return isAlike(utterance, there) || (at === 0 && isCutOff());
    })
  );
}

/** A place among the stored utterances behind which a client's conversation goes on. */
export interface Matched {
  /** Index of the utterance behind the last one that was found. */
  readonly end: number;
  /** False if earlier ones that the client holds were not found. */
  readonly isWhole: boolean;
}

/** The last place where what the client holds stands without a gap, or else with what others asked in between. */
export function lastMatch({ held, stored }: Compared): Matched | undefined {
  const end = endOfLast(stored.map(keyOf), held.map(keyOf));
  return end === undefined ? matchWithGaps(held, stored) : { end, isWhole: true };
}

/** The same questions in the same order, each with its answer; questions without an answer may be missing. Linear. */
function matchWithGaps(held: readonly Utterance[], stored: readonly Utterance[]): Matched | undefined {
  let at = stored.length - 1;
  let end: number | undefined;
  for (let index = held.length - 1; index >= 0; index -= 1) {
    const [question, answer] = [held[index - 1], held[index]!];
    if (answer.role === "human") {
      continue;
    }
    const isThere = (place: number) => {
      const asked = stored[place - 1];
      const isAsked = question === undefined || (asked !== undefined && isHeld(question, asked));
      return isHeld(answer, stored[place]!) && isAsked;
    };
    while (at >= 0 && !isThere(at)) {
      at -= 1;
    }
    if (at < 0) {
      return end === undefined ? undefined : { end, isWhole: false };
    }
    end ??= at + 1;
    at -= question === undefined ? 1 : 2;
    index -= question === undefined ? 0 : 1;
  }
  return end === undefined ? undefined : { end, isWhole: true };
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
