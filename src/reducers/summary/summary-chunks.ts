import { graphemeBoundary } from "../../text/graphemes.js";
import type { TokenCounter } from "../../tokens/token-counter.js";

/** What has to fit into one request to the summarizer. */
export interface ChunkOptions {
  /** Tokens that a request may have. */
  readonly maxTokens: number;
  /** Text that goes with every request. */
  readonly fixed: string;
  readonly counter: TokenCounter;
}

/** Tokens to allow for each entry's line break and for what joins the parts of a request. */
const joints = { entry: 1, request: 60 };

/**
 * The entries in lists of which each fits into one request; an entry that is too long for one is split. At least half
 * of a request is for entries, however long the fixed text is. Nothing is counted where the whole cannot be too long.
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

/** The text as it is where it fits, else its halves, each split again until it fits. */
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
