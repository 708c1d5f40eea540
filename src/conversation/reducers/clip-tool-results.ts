import type { BaseMessage, MessageContent, ToolMessage } from "@langchain/core/messages";
import { graphemeBoundary } from "../../base/graphemes.js";
import { isScreenshot } from "../messages/roles.js";
import { blockText, contentText, textOf } from "../messages/content.js";
import { breather, countOf } from "../tokens/counted-messages.js";
import type { TokenCounter } from "../tokens/token-counter.js";
import { withShorterContent } from "./reduction-outcome.js";

/** Ends a clipped tool result; the transcript keeps the whole result. */
export const clipMarker = "\n[shortened to fit the context window]";

/** The tool results to clip, and by how much. */
export interface ClipRequest {
  /** Indexes of the tool messages that may be clipped, oldest first. */
  readonly indexes: readonly number[];
  /** Tokens to remove. */
  readonly excess: number;
  readonly counter: TokenCounter;
  /** Characters that stay of a result whatever the excess. @default 0 */
  readonly least?: number;
  /** The text of a result in about so many characters. @default its beginning, and a marker */
  readonly shorten?: ShortenResult | undefined;
}

/** Returns a text for a result that takes at most about so many characters. */
export type ShortenResult = (message: ToolMessage, characters: number) => string;

/**
 * Clips tool results, oldest first, until `excess` tokens are removed or nothing more can be. A clipped result is a new
 * message with the same id; it keeps its beginning, ends with a marker, and is always shorter than before, in
 * characters and in tokens. The larger the excess, the less stays.
 */
export async function clipToolResults(
  messages: readonly BaseMessage[],
  { indexes, excess, counter, least = 0, shorten }: ClipRequest,
): Promise<BaseMessage[]> {
  const result = [...messages];
  let left = excess;
  for (const index of indexes) {
    if (left <= 0) {
      break;
    }
    const tokens = await countOf(counter, result[index]!);
    const clipped = await clipToTokens(result[index] as ToolMessage, {
      ...{ allowed: tokens - left, counter, least, shorten },
    });
    if (clipped !== undefined) {
      result[index] = clipped;
      left -= tokens - (await countOf(counter, clipped));
    }
  }
  return result;
}

/** Clips a message to as much text as fits, at least to `least`; undefined if that would not be shorter. */
async function clipToTokens(
  message: ToolMessage,
  { allowed, counter, least, shorten }: ClipOfResult,
): Promise<ToolMessage | undefined> {
  const length = textOf(message).length;
  if (length === 0 || isScreenshot(message)) {
    return undefined;
  }
  const cutTo = (characters: number) =>
    shorten === undefined
      ? withTextUpTo(message, characters)
      : withShorterContent(message, shorten(message, characters));
  const smallest = cutTo(least);
  if (textOf(smallest).length >= length || (await countOf(counter, smallest)) >= (await countOf(counter, message))) {
    return undefined;
  }
  const cuts = await cutsWithin(ownTextOf(message.content), { least, allowed, counter });
  let [fits, candidate] = [smallest, cuts.length - 1];
  let [low, high] = [0, cuts.length - 1];
  while (low <= high) {
    const clipped = cutTo(cuts[candidate]!);
    if (textOf(clipped).length < length && (await countOf(counter, clipped)) <= allowed) {
      [fits, low] = [clipped, candidate + 1];
    } else {
      high = candidate - 1;
    }
    candidate = Math.floor((low + high) / 2);
  }
  return fits;
}

interface ClipOfResult extends Pick<ClipRequest, "counter" | "shorten"> {
  /** Tokens that it may take. */
  readonly allowed: number;
  readonly least: number;
}

/**
 * Returns ascending lengths above `least` to cut a text to, as long as its pieces together take at most `allowed`
 * tokens.
 */
async function cutsWithin(text: string, { allowed, counter, least }: Omit<ClipOfResult, "shorten">): Promise<number[]> {
  const breathe = breather();
  const piece = Math.min(1024, Math.max(64, Math.ceil(text.length / 64)));
  const cuts: number[] = [];
  let [tokens, from] = [0, 0];
  for (let length = piece; length < text.length; length += piece) {
    const to = graphemeBoundary(text, length);
    tokens += await counter.countText(text.slice(from, to));
    if (tokens > allowed) {
      break;
    }
    if (to > least) {
      cuts.push(to);
    }
    from = to;
    await breathe();
  }
  return cuts;
}

/** Returns the text of content, without our marker. */
function ownTextOf(content: MessageContent): string {
  const text = contentText(content);
  return text.endsWith(clipMarker) ? text.slice(0, -clipMarker.length) : text;
}

/** Cuts a message's text to `length` characters and adds the marker; blocks without text stay. */
function withTextUpTo(message: ToolMessage, length: number): ToolMessage {
  return withShorterContent(message, contentUpTo(message.content, length));
}

function contentUpTo(content: MessageContent, length: number): MessageContent {
  if (typeof content === "string") {
    return content.slice(0, length) + clipMarker;
  }
  let left = length;
  let isCut = false;
  return content.flatMap((block) => {
    const text = blockText(block);
    if (text === "" || (!isCut && text.length <= left)) {
      left -= text.length;
      return [block];
    }
    if (isCut) {
      return [];
    }
    isCut = true;
    const clipped = text.slice(0, left) + clipMarker;
    return [
      typeof (block as unknown) === "string" ? (clipped as unknown as typeof block) : { ...block, text: clipped },
    ];
  });
}
