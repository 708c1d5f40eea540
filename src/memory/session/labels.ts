import { sealedTextParts } from "../../store/sealed/keys/text.js";
import { ConfigurationError } from "../../base/errors.js";
import { copyJson, isPlainObject } from "../../base/json-value.js";
import type { SessionLabel, SessionSummary } from "../../store/contract/lists.js";
import { KeyNeeded } from "../../store/contract/refusals.js";
import { isWithin } from "../../store/contract/session-ref.js";
import { valueIn } from "../../conversation/messages/values.js";

/** Metadata of a session: an object of JSON values. */
export type SessionMetadata = Readonly<Record<string, unknown>>;

/** Title and metadata of a session. */
export interface SessionNames {
  /** Title of the session; at most 1,000 bytes. @default none */
  readonly title?: string;
  /** Metadata of the application; at most 16,384 bytes as JSON. @default none */
  readonly metadata?: SessionMetadata;
}

/** Maximum bytes of a title, and of metadata as JSON: a page of a list reads those of all its sessions. */
const limits = { title: 1_000, metadata: 16_384 };

/**
 * The stored texts of title and metadata. The only serializer; {@link namesIn} is the only parser.
 *
 * @throws ConfigurationError `title` or `metadata`; `user` names the called function.
 */
export function labelOf(user: string, { title, metadata }: SessionNames): SessionLabel {
  if (title !== undefined) {
    checkTitle(user, title);
  }
  if (metadata === undefined) {
    return title === undefined || title === "" ? {} : { title };
  }
  return { ...(title !== undefined && title !== "" && { title }), metadata: metadataText(user, metadata) };
}

/** Parses title and metadata; omits unreadable metadata. */
export function namesIn({ title, metadata }: SessionLabel): {
  readonly title?: string;
  readonly metadata: SessionMetadata;
} {
  return { ...(title !== undefined && { title }), metadata: metadata === undefined ? {} : parsed(metadata) };
}

/** True for an encrypted label that this process cannot decrypt. */
export function isLocked({ title, metadata }: SessionLabel): boolean {
  return [title, metadata].some((text) => text !== undefined && sealedTextParts(text) !== undefined);
}

/**
 * Refuses an encrypted label without its key.
 *
 * @throws EncryptionError `unknown_key`.
 */
export function refuseLocked({ sessionId, label, key }: SessionSummary): void {
  if (isLocked(label)) {
    throw new KeyNeeded(sessionId, key);
  }
}

function checkTitle(user: string, title: unknown): void {
  if (typeof title !== "string" || !title.isWellFormed()) {
    throw new ConfigurationError("title", `${user}: option "title" must be a string of well-formed Unicode.`);
  }
  if (!isWithin(title, limits.title)) {
    throw new ConfigurationError("title", `${user}: option "title" must not be longer than ${limits.title} bytes.`);
  }
  if (sealedTextParts(title) !== undefined) {
    throw new ConfigurationError("title", `${user}: option "title" must not look like encrypted text ("~<key> …").`);
  }
}

function metadataText(user: string, metadata: unknown): string {
  const text = isPlainObject(metadata) ? jsonText(metadata) : undefined;
  if (text === undefined) {
    throw new ConfigurationError("metadata", `${user}: option "metadata" must be an object of JSON values.`);
  }
  if (!isWithin(text, limits.metadata)) {
    throw new ConfigurationError(
      "metadata",
      `${user}: option "metadata" must not be longer than ${limits.metadata} bytes as JSON.`,
    );
  }
  return text;
}

/** The JSON text; undefined for a value that JSON cannot express, or that is circular or nested too deeply. */
function jsonText(value: object): string | undefined {
  try {
    return JSON.stringify(copyJson(value));
  } catch {
    return undefined;
  }
}

function parsed(text: string): SessionMetadata {
  const value = valueIn(text);
  return isPlainObject(value) ? value : {};
}
