import { createHash } from "node:crypto";
import { ConfigurationError } from "../../base/errors.js";
import { alphanumerics, fitsForm } from "../profiles/identifiers.js";
import type { CallIdForm } from "../profiles/profile.js";

/** The length of a new id if the form does not set one. */
const usualLength = 24;

/** More than any form with room to spare needs. */
const maxAttempts = 1000;

/**
 * Gives ids that fit a form. Ids that fit stay as they are; the others get an id made from them alone, so that it is
 * the same in every request, unless another call of the conversation has it already: within a conversation two ids
 * never become one.
 */
export class CallIdTranslator {
  readonly #form: CallIdForm;
  readonly #taken: Set<string>;
  readonly #translations = new Map<string, string>();

  /** `ids` are those of the conversation: none of them is given to another call. */
  constructor(form: CallIdForm | undefined, ids: Iterable<string>) {
    this.#form = form ?? {};
    this.#taken = new Set(ids);
  }

  /** The id itself if it fits, else its translation. */
  translate(id: string): string {
    return fitsForm(id, this.#form) ? id : this.#makeUp(id);
  }

  /** An id for the n-th call with an id, n from 2 on. */
  another(id: string, nth: number): string {
    const readable = `${id}_${nth}`;
    const isFree = id !== "" && !this.#taken.has(readable) && fitsForm(readable, this.#form);
    if (isFree) {
      this.#taken.add(readable);
      return readable;
    }
    return this.#makeUp(`${id}\u0000${nth}`);
  }

  #makeUp(source: string): string {
    const known = this.#translations.get(source);
    if (known !== undefined) {
      return known;
    }
    let made = this.#hash(source);
    for (let attempt = 1; this.#taken.has(made); attempt += 1) {
      if (attempt > maxAttempts) {
        throw new ConfigurationError(
          "profile",
          `Option "profile": "callIds" leaves too few ids for the calls of this conversation.`,
        );
      }
      made = this.#hash(`${source}\u0000again\u0000${attempt}`);
    }
    this.#taken.add(made);
    this.#translations.set(source, made);
    return made;
  }

  #hash(source: string): string {
    const { characters = alphanumerics, minLength = 1, maxLength = Infinity } = this.#form;
    const preferred = [...alphanumerics].filter((character) => characters.includes(character));
    const alphabet = preferred.length > 0 ? preferred : [...characters];
    const length = Math.min(maxLength, Math.max(minLength, usualLength));
    const bytes = createHash("shake256", { outputLength: length * 2 })
      .update(source)
      .digest();
    return Array.from({ length }, (_, index) => alphabet[bytes.readUInt16BE(index * 2) % alphabet.length]!).join("");
  }
}
