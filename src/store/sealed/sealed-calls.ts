import type { EncryptionError } from "../../base/errors.js";
import { maxTries } from "../../base/tries.js";
import type { SessionLabel } from "../contract/lists.js";
import { keptRecords, refuseKept, type KeptRecord, type KeptRecords } from "../contract/kept-records.js";
import { KeyNeeded, plainText, unknownKey, wrongKey } from "../contract/refusals.js";
import { checkSessionId, type SessionRef } from "../contract/session-ref.js";
import type { NewRecord } from "../contract/session-writes.js";
import type { Stored, StoredText } from "../contract/stored-texts.js";
import { withoutUndefined } from "../../base/options.js";
import { keyParts, type StoredKey } from "../contract/writer-keys.js";
import type { DataKeys, KnownKey } from "./keys/data-keys.js";
import { parseSealed } from "./keys/header.js";
import { openText, sealedTextParts, sealText } from "./keys/text.js";
import type { SessionKey } from "./keys/session-key.js";
import { openRecord, sealRecord } from "./record.js";

/** Name of the field that holds the head. */
export const headField = "head";

const sidePrefix = "side:";

/** Characters of a record up to which it is noted as this process sealed it. */
const mostCharacters = 4_000;

/** A text of a session as it is written without a data key. */
export function unsealed(text: string): StoredText {
  return text as unknown as StoredText;
}

/** The text of a field, sealed under its name. */
function sealField(key: SessionKey | undefined, name: string, text: string): StoredText {
  return unsealed(key === undefined ? text : sealText(key, text, "field", name));
}

/** A head, sealed; an empty one stays. */
export function sealHead(key: SessionKey | undefined, head: string): StoredText {
  return head === "" ? unsealed(head) : sealField(key, headField, head);
}

/** Fields with sealed values, each bound to its name. */
function sealFields(
  key: SessionKey | undefined,
  fields: object,
  prefix: string,
): Record<string, StoredText | undefined> {
  const texts: [string, string | undefined][] = Object.entries(fields);
  return Object.fromEntries(
    texts.map(([name, text]) => [name, text === undefined ? text : sealField(key, prefix + name, text)]),
  );
}

/** Side fields with sealed values. */
export function sealSide<Side extends Readonly<Record<string, string | undefined>>>(
  key: SessionKey | undefined,
  side: Side,
): Stored<Side> {
  return sealFields(key, side, sidePrefix) as Stored<Side>;
}

/** A label with sealed texts. */
export function sealLabel(key: SessionKey | undefined, label: SessionLabel): Stored<SessionLabel> {
  return sealFields(key, withoutUndefined(label), "") as Stored<SessionLabel>;
}

/** Names under which results hold texts. */
type OpenedName = "head" | "label" | "side" | "records";

/** A result whose texts have no other names than those that are opened. */
type Openable<Read> = Read extends unknown
  ? Omit<Stored<Read>, OpenedName> extends Omit<Read, OpenedName>
    ? Stored<Read>
    : never
  : never;

/** The texts of results. */
interface StoredTexts {
  readonly head?: StoredText;
  readonly label?: Stored<SessionLabel>;
  readonly side?: Readonly<Record<string, StoredText>>;
  readonly records?: readonly StoredText[];
}

/** The plain text of a record that the store underneath keeps. */
interface KeptPlain {
  readonly text: string;
  readonly kept: KeptRecord;
}

/** Decrypted records, by the keys of a store: another store is never given them. */
const keptBy = new WeakMap<DataKeys, WeakMap<KeptRecord, KeptPlain>>();

/** A write under a data key; without one, of plain text. The label of the caller is sealed. */
type Write<Result> = (caller: Stored<SessionRef>, key: SessionKey | undefined) => Promise<Result>;

/** A caller without its label. */
type Caller = Omit<SessionRef, "label">;

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
  /** The key of the last call. It opens the reply also if another call or time made the process forget it meanwhile. */
  #used: KnownKey | undefined;

  constructor(keys: DataKeys, session: SessionRef) {
    checkSessionId(session.id);
    this.#keys = keys;
    this.session = session;
  }

  /** Notes the key of the session. */
  learn(stored: StoredKey | undefined): void {
    this.#learned = stored;
  }

  /** Makes a read, or another call that seals nothing. */
  read<Result>(read: (caller: Caller) => Promise<Result>): Promise<Result> {
    return this.#untilAccepted(() => {
      const known = this.#keys.known(this.session);
      this.#used = known ?? this.#used;
      const { label: _, ...session } = this.session;
      return read(this.#caller(session, known?.isStored === true ? { name: known.key.id } : {}));
    });
  }

  /** Makes a write, which `stores` what is sealed unless its result says otherwise. */
  write<Result>(write: Write<Result>, stores: (result: Result) => boolean, isNew = false): Promise<Result> {
    return this.#untilAccepted(async () => {
      const known = await this.#keys.forWrite(this.session);
      this.#used = known ?? this.#used;
      const { label, ...session } = this.session;
      const made = known?.isStored === true && !isNew ? undefined : known?.stored;
      const keys = { ...(known && { name: known.key.id }), ...(made && { made }) };
      const caller = { ...this.#caller(session, keys), ...(label && { label: sealLabel(known?.key, label) }) };
      const result = await write(caller, known?.key);
      if (known !== undefined && stores(result)) {
        known.isStored = true;
      }
      return result;
    });
  }

  /** Creates the session, under a key of its own, or that of the incomplete copy that the call goes on with. */
  create<Result>(write: Write<Result>): Promise<Result> {
    this.#keys.forget(this.session.id);
    return this.write(write, (result) => result !== undefined, true);
  }

  #caller(session: Caller, keys: { readonly name?: string; readonly made?: StoredKey }): Caller {
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
          this.#used = await this.#keys.adopt(this.session, error.stored);
        }
      }
    }
  }

  /** Makes a read of texts, and opens them. */
  async readTexts<Read>(read: (caller: Caller) => Promise<Openable<Read>>): Promise<Read> {
    return this.opened<Read>(await this.read(read));
  }

  /** A result of the store underneath with its texts decrypted. */
  async opened<Read>(read: Openable<Read>): Promise<Read> {
    const texts = read as StoredTexts | undefined;
    const { head, label, side, records } = texts ?? {};
    return (texts && {
      ...texts,
      ...(head !== undefined && { head: await this.field(headField, head) }),
      ...(label && { label: await this.#fields(label, "") }),
      ...(side && { side: await this.#fields(side, sidePrefix) }),
      ...(records && { records: await this.records(records) }),
    }) as Read;
  }

  async records(stored: readonly StoredText[]): Promise<string[]> {
    const texts = keptRecords.get(stored as readonly unknown[] as readonly string[]);
    return texts === undefined ? this.#open(stored) : this.#keptOf(stored, texts);
  }

  async #open(stored: readonly StoredText[]): Promise<string[]> {
    const opened: string[] = [];
    for (const record of stored) {
      opened.push(await this.record(record));
    }
    return opened;
  }

  /** The same of records that the store underneath keeps: each is opened once with these keys. */
  async #keptOf(stored: readonly StoredText[], sealed: KeptRecords): Promise<string[]> {
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

  /** A record to append, sealed; with its plain digest too where it has an other one. */
  sealNew(key: SessionKey | undefined, added: NewRecord, hasOther: boolean): Stored<NewRecord> {
    const { id, digest, record } = added;
    if (key === undefined) {
      return { ...added, record: unsealed(record) };
    }
    const sealed = sealRecord(key, record, id);
    if (record.length <= mostCharacters) {
      this.#keys.own.set(String(sealed), { keyName: key.id, record });
    }
    return { ...added, digest: key.digest(digest), record: sealed, ...(hasOther && { otherDigest: digest }) };
  }

  /** A record as it was before it was sealed; one that is plain text as it is, unless that is refused. */
  async record(stored: string | StoredText): Promise<string> {
    const own = this.#keys.own.get(stored as string);
    if (own !== undefined && this.keyNow(own.keyName) !== undefined) {
      return own.record;
    }
    const sealed = parseSealed(stored);
    if (sealed === undefined) {
      return this.#plain(stored as string);
    }
    const name = sealed.header.sealed;
    return this.#opened(openRecord(this.keyNow(name) ?? (await this.#key(name)), sealed));
  }

  async field(name: string, stored: string | StoredText): Promise<string> {
    const text = stored as string;
    const parts = sealedTextParts(text);
    if (parts === undefined) {
      return name === headField && text === "" ? "" : this.#plain(text);
    }
    const key = this.keyNow(parts.keyName) ?? (await this.#key(parts.keyName));
    return this.#opened(openText(key, parts, "field", name));
  }

  async #fields(stored: object, prefix: string): Promise<Record<string, string>> {
    const opened: [string, string][] = [];
    for (const [name, text] of Object.entries(stored) as [string, StoredText][]) {
      opened.push([name, await this.field(prefix + name, text)]);
    }
    return Object.fromEntries(opened);
  }

  /** The session's key if it is at hand and has this name. */
  keyNow(name: string): SessionKey | undefined {
    const known = this.#used?.key.id === name ? this.#used : this.#keys.known(this.session);
    this.#used = known ?? this.#used;
    return known?.key.id === name ? known.key : undefined;
  }

  /** The error for what is sealed with a key that is not the session's. */
  refusal(name: string): EncryptionError {
    const known = this.#used ?? this.#keys.known(this.session);
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
    this.#used = (this.#learned && (await this.#keys.adopt(this.session, this.#learned))) ?? this.#used;
    const key = this.keyNow(name);
    if (key === undefined) {
      throw this.refusal(name);
    }
    return key;
  }

  #opened(plain: string | undefined): string {
    if (plain === undefined) {
      throw wrongKey(this.session.id, keyParts(this.#used!.stored).masterId);
    }
    return plain;
  }
}
