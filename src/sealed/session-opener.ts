import { wrongKey } from "../store/refusals.js";
import type { KeyRing } from "./keys/key-ring.js";
import { openField, sealedFieldParts } from "./keys/field.js";
import { parseSealed } from "./keys/header.js";
import type { SessionKey } from "./keys/session-key.js";
import type { SessionView } from "../store/session-reads.js";
import { openRecord } from "./record.js";
import { keptRecords, refuseKept, type KeptRecord, type KeptRecords } from "../store/kept-records.js";

/** Name of the field that holds the head. */
export const headField = "head";

/** The plain text of a record that the store underneath keeps. */
interface KeptPlain {
  readonly text: string;
  readonly kept: KeptRecord;
}

/** Decrypted records, by key ring: a store with other keys is never given them. */
const keptBy = new WeakMap<KeyRing, WeakMap<KeptRecord, KeptPlain>>();

/** A record as it was before it was sealed, and its key; without one, it was never sealed. */
export interface OpenedRecord {
  readonly plain: string;
  readonly key: SessionKey | undefined;
}

/**
 * Opens what is stored of one session. Plain text is returned as it is.
 *
 * @throws EncryptionError `unknown_key` and `wrong_key`, from every method.
 */
export class SessionOpener {
  readonly #ring: KeyRing;
  readonly #sessionId: string;

  constructor(ring: KeyRing, sessionId: string) {
    this.#ring = ring;
    this.#sessionId = sessionId;
  }

  async records(stored: readonly string[]): Promise<string[]> {
    const texts = keptRecords.get(stored);
    return texts === undefined ? this.#open(stored) : this.#keptOf(stored, texts);
  }

  async #open(stored: readonly string[]): Promise<string[]> {
    const opened: string[] = [];
    for (const record of stored) {
      const now = this.recordNow(record);
      opened.push("plain" in now ? now.plain : (await this.record(record)).plain);
    }
    return opened;
  }

  /** The same of records that the store underneath keeps: each is opened once with these keys. */
  async #keptOf(stored: readonly string[], sealed: KeptRecords): Promise<string[]> {
    const known = keptBy.get(this.#ring) ?? new WeakMap<KeptRecord, KeptPlain>();
    keptBy.set(this.#ring, known);
    const { list } = sealed;
    const plain = list.map((record) => known.get(record));
    const missing = stored.filter((_, index) => plain[index] === undefined);
    const opened = await this.#open(missing).catch((error: unknown) => {
      refuseKept(sealed);
      throw error;
    });
    for (let index = 0, next = 0; index < plain.length; index += 1) {
      if (plain[index] === undefined) {
        plain[index] = { text: opened[next]!, kept: { made: undefined, isReadOften: list[index]!.isReadOften } };
        known.set(list[index]!, plain[index]!);
        next += 1;
      }
    }
    const texts = plain.map((each) => each!.text);
    const kept = plain.map((each) => each!.kept);
    keptRecords.set(texts, { list: kept, source: sealed, isRefused: false });
    return texts;
  }

  async record(stored: string): Promise<OpenedRecord> {
    const now = this.recordNow(stored);
    if ("plain" in now) {
      return now;
    }
    await this.key(now.missing);
    return this.record(stored);
  }

  /** A record if its key is at hand; else the id of the key that has to be asked for. */
  recordNow(stored: string): OpenedRecord | { readonly missing: string } {
    const sealed = parseSealed(stored);
    if (sealed === undefined) {
      return { plain: stored, key: undefined };
    }
    const keyId = sealed.header.sealed;
    const key = this.#ring.derived(keyId, this.#sessionId);
    return key === undefined ? { missing: keyId } : { plain: this.#opened(openRecord(key, sealed), keyId), key };
  }

  async field(name: string, stored: string): Promise<string> {
    const now = this.fieldNow(name, stored);
    if ("plain" in now) {
      return now.plain;
    }
    await this.key(now.missing);
    return this.field(name, stored);
  }

  /** A field if its key is at hand; else the id of the key that has to be asked for. */
  fieldNow(name: string, stored: string): { readonly plain: string } | { readonly missing: string } {
    const parts = sealedFieldParts(stored);
    if (parts === undefined) {
      return { plain: stored };
    }
    const { keyId } = parts;
    const key = this.#ring.derived(keyId, this.#sessionId);
    return key === undefined ? { missing: keyId } : { plain: this.#opened(openField(key, name, parts), keyId) };
  }

  async view<View extends Pick<SessionView, "head" | "records">>(view: View): Promise<View> {
    const head = await this.field(headField, view.head);
    return { ...view, head, records: await this.records(view.records) };
  }

  key(id: string): Promise<SessionKey> {
    return this.#ring.load(id, this.#sessionId);
  }

  /** Gets all keys that a session names. */
  async admit(names: readonly string[]): Promise<void> {
    for (const name of names) {
      const id = name.slice(0, name.lastIndexOf("."));
      if ((await this.key(id)).tag !== name) {
        throw wrongKey(this.#sessionId, id);
      }
    }
  }

  #opened(plain: string | undefined, keyId: string): string {
    if (plain === undefined) {
      throw wrongKey(this.#sessionId, keyId);
    }
    return plain;
  }
}
