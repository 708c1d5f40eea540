import type { Sealing, TextKind } from "../redis/reseal-texts.js";
import { wrongKey, unknownKey } from "../store/refusals.js";
import { sealedFieldParts } from "./keys/field.js";
import type { KeyRing } from "./keys/key-ring.js";
import type { SealPlace, SessionKey } from "./keys/session-key.js";

const sealedText = /^~([\w.:/@-]{1,64}) ([\w-]*)$/;

/**
 * Seals and opens the texts of threads, or of long-term memory as those of no thread (""). JSON never begins like a
 * sealed text, so plain ones are read as they are.
 */
export class SealedTexts {
  readonly #ring: KeyRing | undefined;
  readonly #format: SealPlace["format"];

  /** Without a ring, texts stay as they are, and sealed ones are refused. */
  constructor(ring: KeyRing | undefined, format: SealPlace["format"] = "thread 1") {
    this.#ring = ring;
    this.#format = format;
  }

  /** Seals what is written to a thread; texts stay plain where the current key is `null`. */
  async sealer(threadId: string): Promise<(text: string, kind: TextKind, name: string) => string> {
    const key = await this.#ring?.derivedForWrite(threadId);
    return (text, kind, name) =>
      key === undefined ? text : `~${key.id} ${key.seal(text, this.#placeOf(kind, name)).toString("base64url")}`;
  }

  /**
   * Opens texts that were read.
   *
   * @throws EncryptionError `unknown_key` and `wrong_key`.
   */
  async opener(
    threadId: string,
    texts: Iterable<string>,
  ): Promise<(text: string, kind: TextKind, name: string) => string> {
    const keys = new Map<string, SessionKey>();
    for (const text of texts) {
      const keyId = keyIdOf(text);
      if (keyId !== undefined && !keys.has(keyId)) {
        keys.set(keyId, await this.#key(keyId, threadId));
      }
    }
    return (text, kind, name) => {
      const keyId = keyIdOf(text);
      if (keyId === undefined) {
        return text;
      }
      const bytes = Buffer.from(sealedText.exec(text)?.[2] ?? "", "base64url");
      const plain = keys.get(keyId)?.open(bytes, this.#placeOf(kind, name));
      if (plain === undefined) {
        throw wrongKey(threadId, keyId);
      }
      return plain;
    };
  }

  #placeOf(kind: TextKind, name: string): SealPlace {
    return { format: this.#format, type: kind, name };
  }

  async #key(keyId: string, threadId: string): Promise<SessionKey> {
    if (this.#ring === undefined) {
      throw unknownKey(threadId, keyId);
    }
    return this.#ring.derived(keyId, threadId);
  }
}

/**
 * Seals texts of threads and items again. Each text is opened, also one of the current key.
 *
 * @throws ConfigurationError where the current key is `null`; EncryptionError, from `reseal`.
 */
export async function sealingWith(ring: KeyRing): Promise<Sealing> {
  const { id } = await ring.required("");
  const formats = { "thread 1": new SealedTexts(ring), "item 1": new SealedTexts(ring, "item 1") };
  return {
    reseal: async (text, { format, id: threadId, kind, name }) => {
      const plain = (await formats[format].opener(threadId, [text]))(text, kind, name);
      return keyIdOf(text) === id ? undefined : (await formats[format].sealer(threadId))(plain, kind, name);
    },
    hasSealed: (field) => sealedFieldParts(field)?.keyId === id,
  };
}

function keyIdOf(text: string): string | undefined {
  return text.startsWith("~") ? text.slice(1, text.indexOf(" ")) : undefined;
}
