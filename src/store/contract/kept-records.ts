/**
 * A record that a store keeps in memory: the same object for as long as the record stays in the log. Readers of the
 * same text note here what they made of it, and hand out copies only.
 */
export interface KeptRecord {
  made: unknown;
  /** True where the session was read more than once, so that it will probably be read again. */
  readonly isReadOften: boolean;
  /** The plain text, from the reader that decrypted it last. */
  opened?: OpenedRecord;
}

/** A decrypted record, for nobody but who reads with the same keys. */
export interface OpenedRecord extends KeptRecord {
  readonly keys: object;
  readonly text: string;
}

/** The kept records of a view. */
export interface KeptRecords {
  readonly list: KeptRecord[];
  /** The records of the wrapped store from which these were made. */
  readonly source?: KeptRecords;
  /** True if a record could not be read: the store asks for all again, so that a repair by hand is seen. */
  isRefused: boolean;
  /** True once a reader may hold the list of texts: then it grows no more. */
  isLent: boolean;
  /** True once a reader found that all of them are shown as they stand, behind an empty head. */
  isShownAsStored?: boolean;
  /** The plain texts of all, from the reader that decrypted them last. */
  opened?: { readonly keys: object; readonly texts: readonly string[] };
}

/** The kept records of texts that a read returned, in the same order, by the list of texts; not all are kept. */
export const keptRecords = new WeakMap<readonly string[], KeptRecords>();

/** Says that a record could not be read. */
export function refuseKept(records: KeptRecords | undefined): void {
  for (let each = records; each !== undefined; each = each.source) {
    each.isRefused = true;
  }
}
