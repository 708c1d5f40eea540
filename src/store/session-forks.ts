import { alreadyExists } from "./refusals.js";
import { checkOptional, notNegative, positive } from "./request-checks.js";
import { checkSessionId, type SessionRef } from "./session-ref.js";
import type { IdentifiedRecord } from "./session-writes.js";

/**
 * Copies of sessions under another id.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 * await store.append({ id: "chat-7" }, { records: [hello] });
 * const copyRecord = (record: string) => ({ record, identity: { id: hello.id, digest: hello.digest } });
 * const forked = await store.copies.fork({ id: "chat-7" }, { id: "branch" }, { at: 1, copyRecord });
 * console.log(forked?.next); // 1
 */
export interface SessionForks {
  /**
   * Copies the records before a position, and what the session keeps about them, into a new session. The copy has the
   * owner of the `target`, and the texts of its label, in the place of the source's; it is sealed with the target's
   * `keys.current`.
   *
   * The new session appears at once when it is complete, with all of its records; before, nothing can be read of it.
   * The copy is of one moment: records that are removed from the source meanwhile make it begin again, reductions and
   * new records do not. A call that failed can be made again, and goes on where it stopped. `undefined` if the source
   * does not exist.
   *
   * Nothing of a copy that never becomes complete stays for longer than five minutes, or beyond the erasure of the
   * source's owner; and no copy outlives an erasure that its source did not.
   *
   * @throws ConflictError `other_owner` (the source is another owner's), `exists` (there is a session of the new id),
   *   `position` (`at` lies behind the end, or among what was discarded), `stale` (others kept removing records);
   *   StoreError, also `erased` where the new id was erased a short time ago.
   */
  fork(session: SessionRef, target: SessionRef, request: ForkRequest): Promise<ForkedSession | undefined>;
}

/** What to copy. Tokens of the view, fences, reductions and usage begin anew. */
export interface ForkRequest {
  /** Copies the records before this position. @default all */
  readonly at?: number;
  /** All keys of the new session expire this many milliseconds from now. @default never */
  readonly ttlMs?: number;
  /** Returns the copy of a record, and its identity; without one for a record that cannot be read. */
  readonly copyRecord: (record: string, position: number) => CopiedRecord;
  /** Returns the ids of the messages in a head: those whose records were discarded are known to the copy too. */
  readonly identifyHead?: (head: string) => readonly string[];
  /** Returns the copy of the head or of another field; the name is that in `state`. @default the text */
  readonly copyField?: (name: string, text: string) => string;
}

/** Milliseconds for which a part of a copy is kept that nobody goes on with. */
export const stagingMs = 300_000;

/** A record of the new session. */
export interface CopiedRecord {
  /** The record's text in the new session. */
  readonly record: string;
  /** What `rebuild` would know of it; undefined for a record that cannot be read. */
  readonly identity: IdentifiedRecord | undefined;
}

/** A session that was created by a fork. */
export interface ForkedSession {
  /** The new session's epoch. */
  readonly epoch: string;
  /** The position that the new session's next record will get. */
  readonly next: number;
}

/** True for the fields of `state` that a copy keeps besides those that every store knows. */
export function isCopiedField(name: string): boolean {
  return name.startsWith("side:") || copiedFields.has(name);
}

const copiedFields: ReadonlySet<string> = new Set(["owner", "title", "metadata", "listed", "label"]);

/** Refuses a fork with invalid parts, and one onto the session itself. */
export function checkFork(session: SessionRef, target: SessionRef, { at, ttlMs }: ForkRequest): void {
  checkSessionId(session.id);
  checkSessionId(target.id);
  checkOptional("at", at, notNegative);
  checkOptional("ttlMs", ttlMs, positive);
  if (session.id === target.id) {
    throw alreadyExists(target.id);
  }
}
