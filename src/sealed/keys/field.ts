import type { SessionKey } from "./session-key.js";

const sealedField = /^sealed:([\w.:/@-]{1,64})\.([\w-]{38,})$/;

/** The text of a field, sealed under the field's name: the same for the same text, so that it can be compared. */
export function sealField(key: SessionKey, name: string, text: string): string {
  return `sealed:${key.id}.${key.sealSame(text, { format: "field 1", type: "", name }).toString("base64url")}`;
}

/** A sealed field: the id of its key, and what is sealed, as base64url. */
export interface SealedFieldParts {
  readonly keyId: string;
  readonly sealed: string;
}

/**
 * The parts of a sealed field; undefined for a plain one. Fields are base64url, so that no text that an application
 * keeps beside a conversation is taken for a sealed one.
 */
export function sealedFieldParts(stored: string): SealedFieldParts | undefined {
  const [, keyId, sealed] = stored.startsWith("sealed:") ? (sealedField.exec(stored) ?? []) : [];
  return keyId === undefined ? undefined : { keyId, sealed: sealed! };
}

/** The text that was sealed under the field's name; undefined if the key does not open it. */
export function openField(key: SessionKey, name: string, { sealed }: SealedFieldParts): string | undefined {
  return key.open(Buffer.from(sealed, "base64url"), { format: "field 1", type: "", name });
}
