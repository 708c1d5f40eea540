import { Buffer } from "node:buffer";
import { z } from "zod";
import { BudgetError, ConfigurationError } from "../../errors.js";
import { anyText, lazy, nonEmptyText } from "../../options.js";

/** A file that a user brought: its text, a link to it, or its bytes. */
export interface UploadedContent {
  /** Names the file in the session; a second one of the same id takes the first one's place. */
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  /** What the model reads of it. */
  readonly text?: string;
  /** A link or data URL; images are shown by it. */
  readonly url?: string;
  /**
   * Bytes, or base64 of them. Files of text are read as UTF-8; of other files than images and text the model is told
   * the name only: give their `text`.
   */
  readonly data?: string | Uint8Array;
  /** The message that brought it. @default the current turn's user message */
  readonly messageId?: string;
}

/**
 * An upload as it is kept; `messageId` is undefined for one of the current turn's user message, which has no id until
 * it is stored.
 */
export interface Upload extends Omit<UploadedContent, "data"> {
  /** Uploads of a session are numbered in the order in which they came. */
  readonly sequence: number;
}

/** Sizes in bytes of UTF-8, as stored: images as base64. */
export interface UploadLimits {
  readonly maxUploadBytes: number;
  readonly maxUploadsBytes: number;
}

/** The form of a list of {@link UploadedContent}. */
export const uploadedContentsSchema = lazy(() =>
  z.array(
    z.strictObject({
      id: nonEmptyText(),
      name: nonEmptyText(),
      mimeType: nonEmptyText(),
      text: anyText().optional(),
      url: nonEmptyText().optional(),
      data: z
        .custom<string | Uint8Array>(
          (value) => typeof value === "string" || value instanceof Uint8Array,
          "must be base64 or a Uint8Array",
        )
        .optional(),
      messageId: nonEmptyText().optional(),
    }),
    "must be an array of uploaded contents",
  ),
);

/**
 * The content as it is kept.
 *
 * @throws ConfigurationError unless it has one of text, url and data.
 */
export function toUpload({ data, ...content }: UploadedContent, sequence: number): Upload {
  const given = [content.text, content.url, data].filter((value) => value !== undefined).length;
  if (given !== 1) {
    throw new ConfigurationError("text", 'addUploadedContent: give each content one of "text", "url" and "data".');
  }
  return { ...content, ...(data !== undefined && fromData(content.mimeType, data)), sequence };
}

/** True for an upload that is shown as an image. */
export function isImage({ mimeType, url }: Upload): boolean {
  return mimeType.startsWith("image/") && url !== undefined;
}

/** The stored form of an upload. */
export function writeUpload(upload: Upload): string {
  return JSON.stringify(upload);
}

/** The upload that a stored form holds; undefined for a damaged one. */
export function readUpload(stored: string): Upload | undefined {
  try {
    const upload = JSON.parse(stored) as Upload;
    const { id, name, mimeType, sequence, text = "", url = "", messageId = "" } = upload;
    const isWhole =
      [id, name, mimeType, text, url, messageId].every((field: unknown) => typeof field === "string") &&
      typeof sequence === "number";
    return isWhole ? upload : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Refuses uploads that a session should not hold.
 *
 * @throws BudgetError in bytes: one upload, or all uploads of the session together, are too large.
 */
export function checkUploadSizes(all: readonly Upload[], { maxUploadBytes, maxUploadsBytes }: UploadLimits): void {
  let total = 0;
  for (const upload of all) {
    const bytes = Buffer.byteLength(writeUpload(upload));
    if (bytes > maxUploadBytes) {
      throw tooLarge(
        `The upload ${JSON.stringify(upload.id)} takes ${bytes} bytes; "maxUploadBytes" allows ${maxUploadBytes}.`,
        bytes,
        maxUploadBytes,
      );
    }
    total += bytes;
  }
  if (total > maxUploadsBytes) {
    const reason = `The uploads of this session would take ${total} bytes; "maxUploadsBytes" allows ${maxUploadsBytes}. Remove some with removeUploadedContent().`;
    throw tooLarge(reason, total, maxUploadsBytes);
  }
}

function tooLarge(message: string, needed: number, allowed: number): BudgetError {
  return new BudgetError(message, { needed, allowed });
}

function fromData(mimeType: string, data: string | Uint8Array): Pick<Upload, "text" | "url"> {
  const bytes = typeof data === "string" ? Buffer.from(data, "base64") : Buffer.from(data);
  if (/^text\/|[/+](json|xml|yaml)\b/.test(mimeType)) {
    return { text: bytes.toString("utf8") };
  }
  // Other bytes cannot be shown, so they are not stored: only that the file exists.
  return mimeType.startsWith("image/") ? { url: `data:${mimeType};base64,${bytes.toString("base64")}` } : {};
}
