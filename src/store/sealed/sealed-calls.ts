import { EncryptionError } from "../../base/errors.js";
import { maxTries } from "../../base/bounds.js";
import { checkSessionId, keyParts } from "../contract/session-ref.js";
import type { SessionLabel, SessionRef, StoredKey } from "../contract/session-ref.js";
import { KeyNeeded, plainText, unknownKey, wrongKey } from "../contract/refusals.js";
import { keptRecords, refuseKept, type KeptRecords } from "../contract/session-reads.js";
import type { NewRecord } from "../contract/session-writes.js";
import type { Stored, StoredText } from "../contract/stored-texts.js";
import { withoutUndefined } from "../../base/options.js";
import type { KnownKey, SessionKeys } from "./keys/data-keys.js";
import { parseSealed, openText, sealedTextParts, sealText, type SessionKey } from "./keys/session-key.js";
import { openRecord, sealRecord } from "./record.js";

/** Name of the field that holds the head. */
export const headField = "head";

const sidePrefix = "side:";

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

/** Side fields, or others, with sealed values, each bound to its name. */
export function sealFields<Fields extends object>(
  key: SessionKey | undefined,
  fields: Fields,
  prefix = sidePrefix,
): Stored<Fields> {
  const texts: [string, string | undefined][] = Object.entries(fields);
  return Object.fromEntries(
    texts.map(([name, text]) => [name, text === undefined ? text : sealField(key, prefix + name, text)]),
  ) as Stored<Fields>;
}

/** A label with sealed texts. */
export function sealLabel(key: SessionKey | undefined, label: SessionLabel): Stored<SessionLabel> {
  return sealFields(key, withoutUndefined(label), "");
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

/** A write under a data key; without one, of plain text. The label of the caller is sealed. */
type Write<Result> = (caller: Stored<SessionRef>, key: SessionKey | undefined) => Promise<Result>;

/** A caller without its label: every other field of a session, for the compiler to name one that is new. */
type Caller = { readonly [Name in keyof Required<SessionRef>]: Name extends "label" ? undefined : SessionRef[Name] };

/**
 * Calls of the store underneath that concern one session, made with its data key. A call that is refused for its key is
 * made again with the one that the refusal names.
 *
 * @throws EncryptionError, from every method.
 */
export class SealedCalls {
  readonly session: SessionRef;
  readonly #keys: SessionKeys;
  /** The key that a reply named. */
  #learned: StoredKey | undefined;
  /** The key of the last call. It opens the reply also if another call or time made the process forget it meanwhile. */
  #used: KnownKey | undefined;
  /** Why the key that a reply named is not at hand; an error for texts only that it sealed. */
  #failure: unknown;

  constructor(keys: SessionKeys, session: SessionRef) {
    this.#keys = keys;
    this.session = session;
  }

  /** Takes the key that the session has. */
  async learn(stored: StoredKey | undefined): Promise<void> {
    if (stored !== undefined && stored.key !== this.#used?.stored.key) {
      const adopted = this.#keys.adopt(this.session, stored);
      this.#used = await adopted.catch((error: unknown) => ((this.#failure = error), this.#used));
    }
  }

  /** Makes a read, or another call that seals nothing. */
  read<Result>(read: (caller: Caller) => Promise<Result>): Promise<Result> {
    return this.#untilAccepted(() => {
      const entry = this.#keys.keyOf(this.session);
      this.#used = entry ?? this.#used;
      return read(this.#caller(entry?.isStored === true ? entry.key.id : undefined));
    });
  }

  /** Makes a write, which `stores` what is sealed unless its result says otherwise. */
  write<Result>(write: Write<Result>, stores: (result: Result) => boolean, isNew = false): Promise<Result> {
    return this.#untilAccepted(async () => {
      const entry = await this.#keys.forWrite(this.session);
      this.#used = entry ?? this.#used;
      const { label } = this.session;
      const made = entry?.isStored === true && !isNew ? undefined : entry?.stored;
      const caller = this.#caller(entry?.key.id, made);
      const labelled = label ? { ...caller, label: sealLabel(entry?.key, label) } : caller;
      const result = await write(labelled, entry?.key);
      if (entry !== undefined && stores(result)) {
        entry.isStored = true;
      }
      return result;
    });
  }

  /** Creates the session, under a key of its own. */
  create<Result>(write: Write<Result>): Promise<Result> {
    this.#keys.delete(this.session.id);
    return this.write(write, (result) => result !== undefined, true);
  }

  #caller(name: string | undefined, made?: StoredKey): Caller {
    const learn = (stored: StoredKey) => {
      this.#learned = stored;
    };
    const { id, owner, hold } = this.session;
    return { id, owner, hold, keys: { name, made, learn }, label: undefined };
  }

  async #untilAccepted<Result>(call: () => Promise<Result>): Promise<Result> {
    checkSessionId(this.session.id);
    for (let tries = 1; ; tries += 1) {
      try {
        const result = await call();
        if (this.#learned !== undefined) {
          await this.learn(this.#learned);
        }
        return result;
      } catch (error) {
        if (!(error instanceof KeyNeeded) || tries === maxTries.write) {
          throw error;
        }
        if (error.stored === undefined) {
          this.#keys.delete(this.session.id);
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
  opened<Read>(read: Openable<Read>): Read {
    const texts = read as StoredTexts | undefined;
    const { head, label, side, records } = texts ?? {};
    return (texts && {
      ...texts,
      ...(head !== undefined && { head: this.field(headField, head) }),
      ...(label && { label: this.#fields(label, "") }),
      ...(side && { side: this.#fields(side, sidePrefix) }),
      ...(records && { records: this.#records(records) }),
    }) as Read;
  }

  /** Records that the store underneath keeps are opened once with these keys, and their list is made once. */
  #records(stored: readonly StoredText[]): readonly string[] {
    const kept = keptRecords.get(stored as readonly unknown[] as readonly string[]);
    if (kept === undefined) {
      return stored.map((record) => this.record(record));
    }
    if (kept.opened?.keys !== this.#keys) {
      kept.opened = { keys: this.#keys, texts: this.#keptOf(stored, kept) };
    }
    return kept.opened.texts;
  }

  #keptOf(stored: readonly StoredText[], sealed: KeptRecords): readonly string[] {
    const keys = this.#keys;
    try {
      const list = sealed.list.map((record, index) => {
        if (record.opened?.keys !== keys) {
          record.opened = { made: undefined, isReadOften: record.isReadOften, keys, text: this.record(stored[index]!) };
        }
        return record.opened;
      });
      const texts = list.map(({ text }) => text);
      keptRecords.set(texts, { list, source: sealed, isRefused: false, isLent: true });
      return texts;
    } catch (error) {
      refuseKept(sealed);
      throw error;
    }
  }

  /** A record to append, sealed; with its plain digest too where it has an other one. */
  sealNew(key: SessionKey | undefined, added: NewRecord, hasOther: boolean): Stored<NewRecord> {
    const { id, digest, record } = added;
    if (key === undefined) {
      return { ...added, record: unsealed(record) };
    }
    const opened = { keys: this.#keys, text: record };
    const sealed = { opened, ...added, digest: key.digest(digest), record: sealRecord(key, record, id) };
    return hasOther ? { otherDigest: digest, ...sealed } : sealed;
  }

  /** A record as it was before it was sealed; one that is plain text as it is, unless that is refused. */
  record(stored: string | StoredText): string {
    const sealed = parseSealed(stored);
    return sealed === undefined
      ? this.#plain(stored as string)
      : this.#opened(openRecord(this.#key(sealed.keyName), sealed));
  }

  field(name: string, stored: string | StoredText): string {
    const text = stored as string;
    const parts = sealedTextParts(text);
    if (parts === undefined) {
      return name === headField && text === "" ? "" : this.#plain(text);
    }
    return this.#opened(openText(this.#key(parts.keyName), parts, "field", name));
  }

  #fields(stored: object, prefix: string): Record<string, string> {
    const texts = Object.entries(stored) as [string, StoredText][];
    return Object.fromEntries(texts.map(([name, text]) => [name, this.field(prefix + name, text)]));
  }

  /** The digest of a record in this session, by its plain one. */
  digest(plain: string): string {
    return this.#used!.key.digest(plain);
  }

  #plain(text: string): string {
    if (this.#keys.ring.refusesPlain) {
      throw plainText(this.session.id);
    }
    return text;
  }

  /** The session's key, if it has this name. */
  #key(name: string): SessionKey {
    const used = (this.#used ??= this.#keys.keyOf(this.session));
    if (used?.key.id === name) {
      return used.key;
    }
    const { id } = this.session;
    const refusal = used?.isStored === true ? wrongKey(id, keyParts(used.stored).masterId) : unknownKey(id, name);
    throw this.#failure ?? refusal;
  }

  #opened(plain: string | undefined): string {
    if (plain === undefined) {
      throw wrongKey(this.session.id, keyParts(this.#used!.stored).masterId);
    }
    return plain;
  }
}

/** Returns an opened text, or the error for one that somebody changed; throws others, as for a lost key. */
export function unlessChanged(open: () => string): string | EncryptionError {
  try {
    return open();
  } catch (error) {
    if (EncryptionError.isInstance(error) && error.code !== "unknown_key") {
      return error;
    }
    throw error;
  }
}
