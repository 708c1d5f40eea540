import type { EncryptionError } from "../../base/errors.js";
import { maxTries } from "../../base/tries.js";
import type { SessionLabel } from "../contract/lists.js";
import { keptRecords, refuseKept, type KeptRecord, type KeptRecords } from "../contract/kept-records.js";
import { KeyNeeded, plainText, unknownKey, wrongKey } from "../contract/refusals.js";
import { checkSessionId, type SessionRef } from "../contract/session-ref.js";
import type { SessionView } from "../contract/session-reads.js";
import { keyParts, type StoredKey } from "../contract/writer-keys.js";
import type { DataKeys } from "./keys/data-keys.js";
import { parseSealed } from "./keys/header.js";
import { openText, sealedTextParts, sealText } from "./keys/text.js";
import type { SessionKey } from "./keys/session-key.js";
import { openRecord } from "./record.js";

/** Name of the field that holds the head. */
export const headField = "head";

/** Name of a side field, apart from what a store keeps about the session. */
function sideField(name: string): string {
  return `side:${name}`;
}

/** The text of a field, sealed under its name. */
export function sealField(key: SessionKey | undefined, name: string, text: string): string {
  return key === undefined ? text : sealText(key, text, "field", name);
}

/** Side fields with sealed values. */
export function sealSideFields<Text extends string | undefined>(
  key: SessionKey | undefined,
  side: Readonly<Record<string, Text>>,
): Record<string, Text> {
  const sealed = Object.entries(side).map(([name, text]) => [
    name,
    text === undefined ? text : sealField(key, sideField(name), text),
  ]);
  return Object.fromEntries(sealed) as Record<string, Text>;
}

/** Names of the texts of a label. */
export const labelTexts = ["title", "metadata"] as const;

/** A label with sealed texts, each bound to its name. */
export function sealLabel(key: SessionKey | undefined, label: SessionLabel): SessionLabel {
  const given = labelTexts.flatMap((name) => (label[name] === undefined ? [] : [[name, label[name]] as const]));
  return Object.fromEntries(given.map(([name, text]) => [name, sealField(key, name, text)]));
}

/** The plain text of a record that the store underneath keeps. */
interface KeptPlain {
  readonly text: string;
  readonly kept: KeptRecord;
}

/** Decrypted records, by the keys of a store: another store is never given them. */
const keptBy = new WeakMap<DataKeys, WeakMap<KeptRecord, KeptPlain>>();

/** A write under a data key; without one, of plain text. The label of the caller is sealed. */
type Write<Result> = (caller: SessionRef, key: SessionKey | undefined) => Promise<Result>;

/**
 * Calls of the store underneath that concern one session, made with its data key. A call that is refused for its key is
 * made again with the one that the refusal names.
 *
 * @throws EncryptionError, from every method.
 */
export class SealedCalls {
  readonly session: SessionRef;
  readonly #keys: DataKeys;
  /** The key that a reply named. */
  #learned: StoredKey | undefined;

  constructor(keys: DataKeys, session: SessionRef) {
    checkSessionId(session.id);
    this.#keys = keys;
    this.session = session;
  }

  /** Notes the key of the session. */
  learn(stored: StoredKey): void {
    this.#learned = stored;
  }

  /** Makes a read, or another call that seals nothing. */
  read<Result>(read: (caller: SessionRef) => Promise<Result>): Promise<Result> {
    return this.#untilAccepted(() => {
      const known = this.#keys.known(this.session);
      const { label: _, ...session } = this.session;
      return read(this.#caller(session, known?.isStored === true ? { name: known.key.id } : {}));
    });
  }

  /** Makes a write, which `stores` what is sealed unless its result says otherwise. */
  write<Result>(write: Write<Result>, stores: (result: Result) => boolean): Promise<Result> {
    return this.#untilAccepted(async () => {
      const known = await this.#keys.forWrite(this.session);
      const { label } = this.session;
      const session = { ...this.session, ...(label && { label: sealLabel(known?.key, label) }) };
      const made = known?.isStored === true ? undefined : known?.stored;
      const keys = { ...(known && { name: known.key.id }), ...(made && { made }) };
      const result = await write(this.#caller(session, keys), known?.key);
      if (known !== undefined && stores(result)) {
        known.isStored = true;
      }
      return result;
    });
  }

  /** Creates the session, under a key of its own. */
  create<Result>(write: Write<Result>): Promise<Result> {
    this.#keys.forget(this.session.id);
    return this.write(write, (result) => result !== undefined);
  }

  #caller(session: SessionRef, keys: { readonly name?: string; readonly made?: StoredKey }): SessionRef {
    return { ...session, keys: { ...keys, learn: (stored) => this.learn(stored) } };
  }

  async #untilAccepted<Result>(call: () => Promise<Result>): Promise<Result> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await call();
      } catch (error) {
        if (!(error instanceof KeyNeeded) || tries === maxTries.write) {
          throw error;
        }
        if (error.stored === undefined) {
          this.#keys.forget(this.session.id);
        } else {
          await this.#keys.adopt(this.session, error.stored);
        }
      }
    }
  }

  /** The read with its records decrypted. */
  async opened<Read extends { readonly records: readonly string[] }>(read: Read): Promise<Read> {
    return { ...read, records: await this.records(read.records) };
  }

  async view<View extends Pick<SessionView, "head" | "records">>(view: View): Promise<View> {
    const head = await this.field(headField, view.head);
    return { ...view, head, records: await this.records(view.records) };
  }

  async records(stored: readonly string[]): Promise<string[]> {
    const texts = keptRecords.get(stored);
    return texts === undefined ? this.#open(stored) : this.#keptOf(stored, texts);
  }

  async #open(stored: readonly string[]): Promise<string[]> {
    const opened: string[] = [];
    for (const record of stored) {
      opened.push(await this.record(record));
    }
    return opened;
  }

  /** The same of records that the store underneath keeps: each is opened once with these keys. */
  async #keptOf(stored: readonly string[], sealed: KeptRecords): Promise<string[]> {
    const known = keptBy.get(this.#keys) ?? new WeakMap<KeptRecord, KeptPlain>();
    keptBy.set(this.#keys, known);
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

  /** A record as it was before it was sealed; one that is plain text as it is, unless that is refused. */
  async record(stored: string): Promise<string> {
    const sealed = parseSealed(stored);
    if (sealed === undefined) {
      return this.#plain(stored);
    }
    const name = sealed.header.sealed;
    return this.#opened(openRecord(this.keyNow(name) ?? (await this.#key(name)), sealed));
  }

  async field(name: string, stored: string): Promise<string> {
    const parts = sealedTextParts(stored);
    if (parts === undefined) {
      return name === headField && stored === "" ? "" : this.#plain(stored);
    }
    const key = this.keyNow(parts.keyName) ?? (await this.#key(parts.keyName));
    return this.#opened(openText(key, parts, "field", name));
  }

  /** The side fields with their values decrypted. */
  async sideFields(stored: Readonly<Record<string, string>>): Promise<Record<string, string>> {
    const side: [string, string][] = [];
    for (const [name, text] of Object.entries(stored)) {
      side.push([name, await this.field(sideField(name), text)]);
    }
    return Object.fromEntries(side);
  }

  /** The session's key if it is at hand and has this name. */
  keyNow(name: string): SessionKey | undefined {
    const known = this.#keys.known(this.session);
    return known?.key.id === name ? known.key : undefined;
  }

  /** The error for what is sealed with a key that is not the session's. */
  refusal(name: string): EncryptionError {
    const known = this.#keys.known(this.session);
    const { id } = this.session;
    return known?.isStored === true ? wrongKey(id, keyParts(known.stored).masterId) : unknownKey(id, name);
  }

  #plain(text: string): string {
    if (this.#keys.refusesPlain) {
      throw plainText(this.session.id);
    }
    return text;
  }

  async #key(name: string): Promise<SessionKey> {
    if (this.#learned !== undefined) {
      await this.#keys.adopt(this.session, this.#learned);
    }
    const key = this.keyNow(name);
    if (key === undefined) {
      throw this.refusal(name);
    }
    return key;
  }

  #opened(plain: string | undefined): string {
    if (plain === undefined) {
      throw wrongKey(this.session.id, keyParts(this.#keys.known(this.session)!.stored).masterId);
    }
    return plain;
  }
}
