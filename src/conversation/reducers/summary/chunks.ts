import { graphemeBoundary } from "../../../base/graphemes.js";
import type { TokenCounter } from "../../tokens/token-counter.js";

/** Limits of one request to the summarization model. */
export interface ChunkOptions {
  /** Maximum tokens of a request. */
  readonly maxTokens: number;
  /** Text that is part of every request. */
  readonly fixed: string;
  readonly counter: TokenCounter;
}

/** Tokens reserved for each entry's line break, and for the text that joins the parts of a request. */
const joints = { entry: 1, request: 60 };

/**
 * Divides the entries into lists that each fit one request; splits an entry that is too long for one. At least half of
 * a request is for entries, however long the fixed text is. Counts nothing if the total length shows that all fits.
 */
export async function chunkEntries(
  entries: readonly string[],
  { maxTokens, fixed, counter }: ChunkOptions,
): Promise<string[][]> {
  const bytes = entries.reduce((total, entry) => total + Buffer.byteLength(entry) + 1, Buffer.byteLength(fixed));
  // No tokenizer makes more tokens of a text than it has bytes.
  if (bytes + joints.request <= maxTokens) {
    return [[...entries]];
  }
  const room = Math.max(Math.floor(maxTokens / 2), maxTokens - (await counter.countText(fixed)) - joints.request);
  const chunks: string[][] = [];
  let left = 0;
  for (const entry of entries) {
    for (const { text, tokens } of await pieces(entry, { room, counter })) {
      if (tokens > left || chunks.length === 0) {
        chunks.push([]);
        left = room;
      }
      chunks[chunks.length - 1]!.push(text);
      left -= tokens;
    }
  }
  return chunks.length === 0 ? [[]] : chunks;
}

interface Piece {
  readonly text: string;
  readonly tokens: number;
}

/** Returns a text that fits as it is, otherwise its halves, each split again until it fits. */
async function pieces(
  text: string,
  options: { readonly room: number; readonly counter: TokenCounter },
): Promise<Piece[]> {
  const tokens = (await options.counter.countText(text)) + joints.entry;
  const middle = graphemeBoundary(text, Math.ceil(text.length / 2));
  if (tokens <= options.room || middle === 0 || middle === text.length) {
    return [{ text, tokens }];
  }
  return [...(await pieces(text.slice(0, middle), options)), ...(await pieces(text.slice(middle), options))];
}
