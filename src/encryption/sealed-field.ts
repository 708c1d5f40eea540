import { unknownKey } from "./key-refusals.js";
import type { SessionKey } from "./session-key.js";

const sealedField = /^sealed:([\w.:/@-]{1,64})\.([\w-]{38,})$/;

/** The text of a field, sealed under the field's name. */
export function sealField(key: SessionKey, name: string, text: string): string {
  return `sealed:${key.id}.${key.seal(text, { format: "field 1", type: "", name })}`;
}

/** The parts of a sealed field; undefined for a plain one. */
export function sealedFieldParts(stored: string): { readonly keyId: string; readonly sealed: string } | undefined {
  const [, keyId, sealed] = stored.startsWith("sealed:") ? (sealedField.exec(stored) ?? []) : [];
  return keyId === undefined ? undefined : { keyId, sealed: sealed! };
}

/**
 * Refuses sealed text where no key is at hand.
 *
 * @throws EncryptionError `unknown_key`.
 */
export function refuseSealedFields(sessionId: string | undefined, fields: Iterable<string>): void {
  for (const stored of fields) {
    const sealed = sealedFieldParts(stored);
    if (sealed !== undefined) {
      throw unknownKey(sessionId, sealed.keyId);
    }
  }
}
