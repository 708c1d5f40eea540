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

/** The share of its length by which each further try is shorter. */
const stepBack = 0.9;

/** Clips a message to about as much text as fits, at least to `least`; undefined if that would not be shorter. */
async function clipToTokens(
  message: ToolMessage,
  { allowed, counter, least, shorten }: ClipOfResult,
): Promise<ToolMessage | undefined> {
  const length = textOf(message).length;
  if (length === 0 || isScreenshot(message)) {
    return undefined;
  }
  const cutTo = (characters: number) =>
    withShorterContent(
      message,
      shorten === undefined ? contentUpTo(message.content, characters) : shorten(message, characters),
    );
  const smallest = cutTo(least);
  const tokens = await countOf(counter, message);
  if (textOf(smallest).length >= length || (await countOf(counter, smallest)) >= tokens) {
    return undefined;
  }
  const text = ownTextOf(message.content);
  const share = Math.min(1, allowed / tokens);
  const breathe = breather();
  for (let most = Math.floor(text.length * share); most > least; most = Math.floor(most * stepBack)) {
    const clipped = cutTo(graphemeBoundary(text, most));
    if (textOf(clipped).length < length && (await countOf(counter, clipped)) <= allowed) {
      return clipped;
    }
    await breathe();
  }
  return smallest;
}

interface ClipOfResult extends Pick<ClipRequest, "counter" | "shorten"> {
  /** Tokens that it may take. */
  readonly allowed: number;
  readonly least: number;
}

/** Returns the text of content, without our marker. */
function ownTextOf(content: MessageContent): string {
  const text = contentText(content);
  return text.endsWith(clipMarker) ? text.slice(0, -clipMarker.length) : text;
}

/** Cuts the text to `length` characters and adds the marker; blocks without text stay. */
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
