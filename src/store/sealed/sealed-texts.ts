import { keyOf } from "../redis/keys.js";
import type { KeyScan } from "../redis/scan-keys.js";
import { keysField } from "../redis/stored-fields.js";
import type { TextAtPlace } from "../redis/thread-records.js";
import { plainText, unknownKey, wrongKey } from "../contract/refusals.js";
import { keyParts, storedKeyFrom, type StoredKey } from "../contract/session-ref.js";
import { DataKeys, type OpenKey } from "./keys/data-keys.js";
import type { KeyRing, MasterKey } from "./keys/key-ring.js";
import { openText, sealedTextParts, sealText } from "./keys/session-key.js";

/** The parts that hold data keys, a line each. Those of a run are in its first entry, and given. */
const parts = { thread: "checkpoints", item: "values", run: "run" } as const;

/** Seals what is written; the line of its data key is stored with it, undefined for plain text. */
export interface Sealer {
  readonly key: string | undefined;
  readonly seal: TextAtPlace;
}

/**
 * Seals and opens the texts of threads, of long-term memory, or of runs. Their data keys stand with them, wrapped by a
 * master key: a writer that knows none adds one.
 */
export class SealedTexts {
  readonly #keys: DataKeys | undefined;
  readonly #kind: keyof typeof parts;
  readonly #scan: KeyScan | undefined;

  /** Without a ring, texts stay as they are, and sealed ones are refused. Without a connection, keys are given. */
  constructor(ring: KeyRing | undefined, kind: keyof typeof parts, scan?: KeyScan) {
    this.#keys = ring && new DataKeys(ring, kind);
    this.#kind = kind;
    this.#scan = scan;
  }

  /** Seals what is written under an id, with the given key or one that the current master key wraps. */
  async sealer(id: string, lines?: string): Promise<Sealer> {
    const entry = lines === undefined ? await this.#forWrite(id) : await this.#key(id, lines.split(" ")[0]!, lines);
    const seal: TextAtPlace = (text, type, name) =>
      entry === undefined ? text : sealText(entry.key, text, type, name);
    return { key: entry && lineOf(entry.stored), seal };
  }

  /**
   * Opens texts that were read. Reads keys that are neither known nor given.
   *
   * @throws EncryptionError.
   */
  async opener(id: string, texts: Iterable<string>, lines?: string): Promise<TextAtPlace> {
    const keys = new Map<string, OpenKey>();
    for (const text of texts) {
      const name = sealedTextParts(text)?.keyName;
      if (name !== undefined && !keys.has(name)) {
        keys.set(name, await this.#key(id, name, lines));
      }
    }
    return (text, type, name) => {
      const parts = sealedTextParts(text);
      if (parts === undefined && text !== "" && this.#keys?.ring.refusesPlain === true) {
        throw plainText(id);
      }
      const entry = parts && keys.get(parts.keyName)!;
      const plain = entry === undefined ? text : openText(entry.key, parts!, type, name);
      if (plain === undefined) {
        throw wrongKey(id, keyParts(entry!.stored).masterId);
      }
      return plain;
    };
  }

  /** The keys that are stored under an id, a line each. */
  async stored(id: string): Promise<string> {
    const { runner, keyPrefix } = this.#scan!;
    const args = [keyOf(keyPrefix, parts[this.#kind], id === "" ? "items" : id), keysField];
    return String((await runner.read({ operation: "readKey", sessionId: id }, { verb: "hget", args })) ?? "");
  }

  /** The keys of `text` wrapped by a master key, and why one of them is not. */
  async rewrapped(id: string, text: string, master: MasterKey): Promise<{ keys: string; error: unknown }> {
    let [keys, error]: [string, unknown] = ["", undefined];
    for (const stored of storedKeys(text)) {
      const now = this.#keys!.rewrapped(id, stored, master);
      keys += `${lineOf(await now.catch((reason: unknown) => ((error = reason), stored)))}\n`;
    }
    return { keys, error };
  }

  async #forWrite(id: string): Promise<OpenKey | undefined> {
    const keys = this.#keys;
    const master = await keys?.ring.current(id);
    if (keys === undefined || master === undefined) {
      return undefined;
    }
    const entry = keys.atHand(id);
    if (entry !== undefined && keyParts(entry.stored).masterId === master.id) {
      return entry;
    }
    // Else each process, and each hour, would add a key.
    const isAsked = this.#kind === "item" || (this.#kind === "thread" && keys.has(id));
    const stored = isAsked ? storedKeys(await this.stored(id)) : [];
    const storedKey = stored.find((one) => keyParts(one).masterId === master.id);
    return keys.note(id, storedKey === undefined ? keys.make(id, master) : await keys.open(id, storedKey));
  }

  async #key(id: string, name: string, lines: string | undefined): Promise<OpenKey> {
    const entry = this.#keys?.atHand(id, name);
    if (entry !== undefined) {
      return entry;
    }
    const text = lines ?? (this.#scan === undefined ? "" : await this.stored(id));
    const stored = storedKeys(text).find((one) => keyParts(one).name === name);
    if (stored === undefined || this.#keys === undefined) {
      throw unknownKey(id, stored === undefined ? name : keyParts(stored).masterId);
    }
    return this.#keys.note(id, await this.#keys.open(id, stored));
  }
}

function lineOf({ key, dek }: StoredKey): string {
  return `${key} ${dek}`;
}

function storedKeys(text: string): StoredKey[] {
  return text.split("\n").flatMap((line) => storedKeyFrom(line) ?? []);
}
