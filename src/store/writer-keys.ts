/**
 * The keys of a writer that encrypts. The name of a key is its id, a dot, and 8 characters that prove possession of the
 * key. A store keeps the names of all keys that a session's records, head and side fields need.
 * @example
 * import { InMemorySessionStore, type WriterKeys } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * await store.append({ id: "chat-7" }, { records: [hello] });
 * const keys: WriterKeys = { current: "2026.x3Rk90aB", known: ["2026.x3Rk90aB"], compare: true };
 * const { differing } = await store.append({ id: "chat-7", keys }, { records: [{ ...hello, digest: "BBBBBBBB" }] });
 * console.log(differing?.[0]?.record === hello.record); // true
 */
export interface WriterKeys {
  /** The key of this write; left out for plain text. */
  readonly current?: string;
  /** All keys of the writer. */
  readonly known: readonly string[];
  /** True to make an append return the stored records of ids whose digest differs, without a decision on them. */
  readonly compare?: boolean;
}

/** The answer to an append with `keys.compare`. */
export interface ComparedResult {
  /**
   * Records of the request whose id is stored with another digest, by their index, with the stored record. Set only if
   * there are any: nothing was written. Digests that two keys made differ for the same content.
   */
  readonly differing?: readonly DifferingRecord[];
}

/** Key of an encrypted record, for `rebuild`. */
export interface KeyedRecord {
  /** The name of its key. */
  readonly key?: string;
}

/** The names of the keys that a session needs, without the mark of a re-encryption pass. */
export function keyNames(stored: string): string[] {
  return stored.split(" ").filter((name) => name !== "" && !name.startsWith("*"));
}

/** The stored key names after a write: the writer's key first. */
export function withKey(stored: string, current: string | undefined): string {
  return current === undefined || stored.split(" ")[0] === current
    ? stored
    : [current, ...keyNames(stored).filter((name) => name !== current)].join(" ");
}

/** The stored record of an id with another digest; of a discarded record, its digest. */
export type DifferingRecord = {
  /** The record's index in the request. */
  readonly index: number;
} & (
  | {
      /** The stored record. */
      readonly record: string;
      /** Not given together with `record`. */
      readonly digest?: undefined;
    }
  | {
      /** The digest that is remembered. */
      readonly digest: string;
      /** Absent: the record was discarded. */
      readonly record?: undefined;
    }
);
