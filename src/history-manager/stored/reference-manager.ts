import { ConfigurationError } from "../../errors.js";

/** A piece of a document that a tool found. `id` names the document, `chunkId` the piece of it. */
export interface Chunk {
  readonly id: string;
  readonly chunkId: string;
  readonly text: string;
}

/** A chunk under the number by which the model cites it, and the tool call that found it. */
export interface SourceReference {
  readonly sourceNumber: number;
  readonly toolCallId: string;
  readonly chunk: Chunk;
}

/** At most nine digits: a longer number is no citation. */
const citation = /\[source ?(\d{1,9})\]/gi;

/**
 * The sources of a conversation by number. A number is given once and never changes: neither a reduction nor a later
 * turn renumbers a source.
 *
 * Standalone it holds what it was given. The one of a `HistoryManager` also holds the cited sources of earlier turns,
 * on whichever instance they were found, from the turn's first read on.
 */
export class ReferenceManager {
  readonly #references = new Map<number, SourceReference>();
  readonly #numbersByChunk = new Map<string, Set<number>>();
  #next = 1;

  /**
   * Numbers the chunks of a tool call and returns their numbers, in order. A chunk that comes again gets a number of
   * its own: its text may differ.
   */
  addChunks(toolCallId: string, chunks: readonly Chunk[]): number[] {
    return chunks.map((chunk) => {
      const sourceNumber = this.#next;
      this.restore([{ sourceNumber, toolCallId, chunk: { ...chunk } }]);
      return sourceNumber;
    });
  }

  /**
   * The chunk of a source number; undefined for a number that was never given, or whose chunk nobody cited in its turn.
   */
  chunkOf(sourceNumber: number): Chunk | undefined {
    return this.#references.get(sourceNumber)?.chunk;
  }

  /** The references to a chunk, by ascending number; `key` is `<id>_<chunkId>`. Empty for a chunk that is not known. */
  lookup(key: string): SourceReference[] {
    const numbers = [...(this.#numbersByChunk.get(key) ?? [])].sort((a, b) => a - b);
    return numbers.map((number) => this.#references.get(number)!);
  }

  /**
   * The source numbers that a text cites as `[sourceN]`, upper case or lower, each once, in order of first mention.
   * Linear.
   */
  cited(text: string): number[] {
    return [...new Set([...text.matchAll(citation)].map(([, digits]) => Number(digits)))];
  }

  /** All references, by ascending number. */
  toList(): SourceReference[] {
    return [...this.#references.values()].sort((a, b) => a.sourceNumber - b.sourceNumber);
  }

  /** The number that the next chunk gets. */
  get nextNumber(): number {
    return this.#next;
  }

  /** Makes the next chunk get this number, or a higher one where it is taken. */
  continueFrom(sourceNumber: number): void {
    if (!Number.isSafeInteger(sourceNumber) || sourceNumber < 1) {
      throw new ConfigurationError("sourceNumber", '"sourceNumber" must be a positive integer.');
    }
    this.#next = Math.max(this.#next, sourceNumber);
  }

  /** Takes in references that were numbered elsewhere; one of a known number takes its place. */
  restore(references: readonly SourceReference[]): void {
    for (const reference of references) {
      this.forget([reference.sourceNumber]);
      this.#references.set(reference.sourceNumber, reference);
      const key = keyOf(reference.chunk);
      this.#numbersByChunk.set(key, (this.#numbersByChunk.get(key) ?? new Set()).add(reference.sourceNumber));
      this.#next = Math.max(this.#next, reference.sourceNumber + 1);
    }
  }

  /** Forgets the chunks of these numbers; the numbers are not given again. */
  forget(sourceNumbers: Iterable<number>): void {
    for (const number of sourceNumbers) {
      const reference = this.#references.get(number);
      if (reference !== undefined) {
        this.#references.delete(number);
        this.#forgetKey(keyOf(reference.chunk), number);
      }
    }
  }

  #forgetKey(key: string, number: number): void {
    const numbers = this.#numbersByChunk.get(key)!;
    numbers.delete(number);
    if (numbers.size === 0) {
      this.#numbersByChunk.delete(key);
    }
  }
}

function keyOf({ id, chunkId }: Chunk): string {
  return `${id}_${chunkId}`;
}
