import { Buffer } from "node:buffer";
import * as z from "zod/mini";
import { BudgetError, ConfigurationError } from "../../../base/errors.js";
import { anyText, lazy, nonEmptyText } from "../../../base/options.js";
import { fieldsOf, valueIn } from "../../../conversation/messages/message.js";

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
export function bytesOf(upload: Upload): number {
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
