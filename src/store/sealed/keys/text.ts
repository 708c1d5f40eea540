import { measured, type SessionKey } from "./session-key.js";

const sealedText = /^~([\w-]{1,64}) ([\w-]{38,})$/;

/** The parts of a sealed text: the name of its key, and what is sealed, as base64url. */
export interface SealedTextParts {
  readonly keyName: string;
  readonly sealed: string;
}

/** A text sealed for its place, in a kind of texts: the same for the same text, so that it can be compared. */
export function sealText(key: SessionKey, text: string, type: string, name: string): string {
  return `~${key.id} ${key.sealSame(text, placeOf(type, name)).toString("base64url")}`;
}

/**
 * The parts of a sealed text; undefined for a plain one: JSON never begins like it, and no text that an application
 * keeps beside a conversation is taken for it.
 */
export function sealedTextParts(stored: string): SealedTextParts | undefined {
  const [, keyName, sealed] = stored.startsWith("~") ? (sealedText.exec(stored) ?? []) : [];
  return keyName === undefined ? undefined : { keyName, sealed: sealed! };
}

/** The text that was sealed for the place; undefined if the key does not open it. */
export function openText(key: SessionKey, { sealed }: SealedTextParts, type: string, name: string): string | undefined {
  return key.open(Buffer.from(sealed, "base64url"), placeOf(type, name));
}

/** A kind of texts, and the name of a field or item, the checkpoint of a thread, or the place in a run. */
function placeOf(type: string, name: string): Buffer {
  // Every string has its own bytes in UTF-16; in UTF-8 all halves of surrogate pairs share theirs.
  return Buffer.from(`text 1 ${measured(type)}${name}`, "utf16le");
}
