import { ConfigurationError } from "../../../base/errors.js";

/** A piece of a document that a tool found. `id` names the document, `chunkId` the piece. */
export interface Chunk {
  /** Names the document. The model reads it as `content_id`. */
  readonly id: string;
  /** Names the piece within its document. */
  readonly chunkId: string;
  /** The text that the model reads. */
  readonly text: string;
}

/** A chunk with the number by which the model cites it, and the tool call that found it. */
export interface SourceReference {
  /** The number that the model cites as `[sourceN]`; counted from 1 in a session, and never used again. */
  readonly sourceNumber: number;
  /** The id of the tool call that found it. */
  readonly toolCallId: string;
  /** The chunk that was found. */
  readonly chunk: Chunk;
}

/** At most nine digits: a longer number is not a citation. */
const citation = /\[source ?(\d{1,9})\]/gi;

/**
 * Holds the sources of a conversation by number. A number is assigned once and never changes: neither a reduction nor a
 * later turn renumbers a source.
 *
 * On its own, it holds the chunks that you add. The one of a `HistoryManager` also holds the sources of earlier
 * turns, whichever instance found them, once the turn has read the session.
 *
 * @example
 * import { ReferenceManager } from "langchain-redis-memory/openai";
 *
 * const references = new ReferenceManager();
 * references.addChunks("call-1", [{ id: "rules", chunkId: "0", text: "By air after four hours." }]); // [1]
 * const cited = references.cited("You may fly [source1]."); // [1]
 * const chunk = references.chunkOf(1);
 */
export class ReferenceManager {
  readonly #references = new Map<number, SourceReference>();
  #next = 1;

  /**
   * Numbers the chunks of a tool call and returns their numbers, in order. A chunk that is found again gets a new
   * number, because its text may differ.
   */
  addChunks(toolCallId: string, chunks: readonly Chunk[]): number[] {
    return chunks.map((chunk) => {
      const sourceNumber = this.#next;
      this.restore([{ sourceNumber, toolCallId, chunk: { ...chunk } }]);
      return sourceNumber;
    });
  }

  /**
   * Returns the chunk with a source number; undefined if the number was never assigned, or its turn was discarded, or
   * the session does not keep so old ones.
   */
  chunkOf(sourceNumber: number): Chunk | undefined {
    return this.#references.get(sourceNumber)?.chunk;
  }

  /** Returns the references to a chunk, by ascending number; empty if there are none. `key` is `<id>_<chunkId>`. */
  lookup(key: string): SourceReference[] {
    return this.toList().filter(({ chunk: { id, chunkId } }) => key === `${id}_${chunkId}`);
  }

  /**
   * Returns the source numbers that a text cites as `[sourceN]` (in any case), each once, in order of first mention.
   * Linear.
   */
  cited(text: string): number[] {
    return [...new Set([...text.matchAll(citation)].map(([, digits]) => Number(digits)))];
  }

  /** Returns all references, by ascending number. */
  toList(): SourceReference[] {
    return [...this.#references.values()].sort((a, b) => a.sourceNumber - b.sourceNumber);
  }

  /** The number that the next chunk will get. */
  get nextNumber(): number {
    return this.#next;
  }

  /** Gives the next chunk this number, or a higher one if it is taken. */
  continueFrom(sourceNumber: number): void {
    if (!Number.isSafeInteger(sourceNumber) || sourceNumber < 1) {
      throw new ConfigurationError("sourceNumber", 'continueFrom: "sourceNumber" must be a positive integer.');
    }
    this.#next = Math.max(this.#next, sourceNumber);
  }

  /** Adds references that were numbered elsewhere; one with a known number replaces the known one. */
  restore(references: readonly SourceReference[]): void {
    for (const reference of references) {
      this.#references.set(reference.sourceNumber, reference);
      this.#next = Math.max(this.#next, reference.sourceNumber + 1);
    }
  }

  /** Forgets the chunks with these numbers; the numbers are not assigned again. */
  forget(sourceNumbers: Iterable<number>): void {
    for (const number of sourceNumbers) {
      this.#references.delete(number);
    }
  }
}
