import { Buffer } from "node:buffer";
import * as z from "zod/mini";
import { ConfigurationError, BudgetError } from "../../../base/errors.js";
import { anyText, lazy, nonEmptyText } from "../../../base/options.js";
import { fieldsOf, valueIn } from "../../../conversation/messages/message.js";

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

/** A file that a user uploaded: its text, a link to it, or its bytes. */
export interface UploadedContent {
  /** Identifies the file in the session; a second file with the same id replaces the first. */
  readonly id: string;
  /** The file's name, as the model reads it. */
  readonly name: string;
  /** The file's type, such as `image/png` or `text/plain`; it decides how `data` is read. */
  readonly mimeType: string;
  /** The text that the model reads. */
  readonly text?: string;
  /** A link or data URL. Images are shown through it. */
  readonly url?: string;
  /**
   * The bytes, or their base64. Text files are read as UTF-8. The model sees only the name of files
   * that are neither text nor images; provide `text` for them.
   */
  readonly data?: string | Uint8Array;
  /** The id of the message it belongs to. @default the current turn's user message */
  readonly messageId?: string;
}

/**
 * An upload as it is stored. `messageId` is undefined if it belongs to the current turn's user message, which has no id
 * until it is stored.
 */
export interface Upload extends Omit<UploadedContent, "data"> {
  /** Numbers the uploads of a session in the order in which they were added. */
  readonly sequence: number;
  /** True for an image that a tool gave. */
  readonly isOfTool?: boolean;
}

/** Size limits, in bytes as stored: UTF-8, with images as base64. */
export interface UploadLimits {
  readonly maxUploadBytes: number;
  readonly maxUploadsBytes: number;
}

/** Schema of a list of {@link UploadedContent}. */
export const uploadedContentsSchema = lazy(() =>
  z.array(
    z.strictObject({
      id: nonEmptyText(),
      name: nonEmptyText(),
      mimeType: nonEmptyText(),
      text: z.optional(anyText()),
      url: z.optional(nonEmptyText()),
      data: z.optional(
        z.custom<string | Uint8Array>(
          (value) => typeof value === "string" || value instanceof Uint8Array,
          "must be base64 or a Uint8Array",
        ),
      ),
      messageId: z.optional(nonEmptyText()),
    }),
    "must be an array of uploaded contents",
  ),
);

/**
 * Converts a content to its stored form.
 *
 * @throws ConfigurationError unless it has exactly one of text, url and data.
 */
export function toUpload({ data, ...content }: UploadedContent, sequence: number): Upload {
  const count = [content.text, content.url, data].filter((value) => value !== undefined).length;
  if (count !== 1) {
    throw new ConfigurationError(
      "text",
      'addUploadedContent: each content must have exactly one of "text", "url" and "data".',
    );
  }
  return { ...content, ...(data !== undefined && fromData(content.mimeType, data)), sequence };
}

/** True for an upload that is shown as an image. */
export function isImage({ mimeType, url }: Upload): boolean {
  return mimeType.startsWith("image/") && url !== undefined;
}

/** Size of an upload as it is stored. */
function bytesOf(upload: Upload): number {
  return Buffer.byteLength(JSON.stringify(upload));
}

/** Parses a stored upload; undefined if it is damaged. */
export function readUpload(stored: string): Upload | undefined {
  const upload = fieldsOf(valueIn(stored));
  const { id, name, mimeType, sequence, text = "", url = "", messageId = "" } = upload;
  const isWhole =
    [id, name, mimeType, text, url, messageId].every((field) => typeof field === "string") &&
    typeof sequence === "number";
  return isWhole ? (upload as unknown as Upload) : undefined;
}

/**
 * Checks the sizes of a session's uploads.
 *
 * @throws BudgetError (in bytes) if one upload, or all uploads together, are too large.
 */
export function checkUploadSizes(all: readonly Upload[], { maxUploadBytes, maxUploadsBytes }: UploadLimits): void {
  let total = 0;
  for (const upload of all) {
    const bytes = bytesOf(upload);
    if (bytes > maxUploadBytes) {
      throw new BudgetError(
        `Upload ${JSON.stringify(upload.id)} takes ${bytes} bytes; "maxUploadBytes" allows ${maxUploadBytes}.`,
        { needed: bytes, allowed: maxUploadBytes },
      );
    }
    total += bytes;
  }
  if (total > maxUploadsBytes) {
    throw new BudgetError(
      `The uploads of this session would take ${total} bytes; "maxUploadsBytes" allows ${maxUploadsBytes}. ` +
        "Remove some with removeUploadedContent().",
      { needed: total, allowed: maxUploadsBytes },
    );
  }
}

function fromData(mimeType: string, data: string | Uint8Array): Pick<Upload, "text" | "url"> {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : Buffer.from(data);
  if (/^text\/|[/+](json|xml|yaml)\b/.test(mimeType)) {
    return { text: bytes.toString("utf8") };
  }
  // Other bytes cannot be shown to the model, so they are not stored.
  return mimeType.startsWith("image/") ? { url: `data:${mimeType};base64,${bytes.toString("base64")}` } : {};
}
