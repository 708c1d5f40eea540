/** The data key of a session as it is stored: wrapped by a master key. */
export interface StoredKey {
  /**
   * Its name and the id of the master key, with a space between them; the mark of the owner that it is bound to, if it
   * is; `plain` where plain text is left.
   */
  readonly key: string;
  readonly dek: string;
}

/**
 * The data key of a caller that encrypts. A session has one, from its first encrypted write on; a call by anybody else
 * that reads or writes texts is refused.
 */
export interface WriterKeys {
  /** The name of the key with which the texts of the call are sealed; left out by a caller that does not know it. */
  readonly name?: string;
  /** The key itself, of a writer that made it: a session without one takes it. */
  readonly made?: StoredKey;
  /** Called by a read with the key of the session. */
  readonly learn?: (stored: StoredKey) => void;
}

/** The parts of a stored key. */
export function keyParts({ key }: StoredKey): {
  readonly name: string;
  readonly masterId: string;
  /** `""` for a key that is bound to no owner. */
  readonly mark: string;
  readonly hasPlain: boolean;
} {
  const [name = "", masterId = "", ...words] = key.split(" ");
  return { name, masterId, mark: words.find((word) => word !== "plain") ?? "", hasPlain: words.includes("plain") };
}

/** The stored key in the text of a refusal; undefined where the session has none. */
export function storedKeyFrom(text: string): StoredKey | undefined {
  const end = text.lastIndexOf(" ");
  return end <= 0 ? undefined : { key: text.slice(0, end), dek: text.slice(end + 1) };
}
