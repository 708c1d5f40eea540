import { BoundedMap } from "../../base/bounded-map.js";
import type { OwnEntry, OwnerLists } from "./owner-lists.js";

/** The most sessions of which a process keeps something. */
export const capacity = 10_000;
/** A list outlives what it was kept for by a fifth of the time to live: the half of it lets most writes go without. */
const kept = 1.2;
const needed = 1.1;

/** A session that is about to be written, and its owner. */
export interface WrittenSession {
  readonly owner: string;
  readonly sessionId: string;
  /** Milliseconds that the session lives after the write; undefined for ever, 0 where the write leaves it as it is. */
  readonly ttlMs?: number | undefined;
}

/**
 * Enters sessions in their owners' lists, in front of their writes. The first time in a process, and once in a tenth of
 * a time to live, a script enters a session by the server's clock and keeps the list; in between a plain ZADD suffices.
 */
export class ListWrites {
  readonly #lists: OwnerLists;
  readonly #onKept: (owner: string) => void;
  /** Until when the list of an entry is kept, in milliseconds of `performance.now()`. */
  readonly #keptUntil = new BoundedMap<string, number>(capacity);
  /** The server's clock minus `performance.now()`, in milliseconds; known once a list is kept. */
  #offset = 0;
  #lastScore = 0;

  /** `onKept` is called when a list was kept for a session with an expiry. */
  constructor(lists: OwnerLists, onKept: (owner: string) => void) {
    this.#lists = lists;
    this.#onKept = onKept;
  }

  /** Enters a session, sent in this tick, and returns its entry. @throws StoreError. */
  async enter(written: WrittenSession): Promise<OwnEntry> {
    const { owner, sessionId } = written;
    return this.#isKept(written) ? this.#lists.move(owner, sessionId, this.#nextScore()) : this.#keep(written, false);
  }

  /** Keeps the list of a session whose expiry was extended; the session stays in its place. */
  async extend(written: WrittenSession): Promise<void> {
    await (this.#isKept(written) ? undefined : this.#keep(written, true));
  }

  #isKept(written: WrittenSession): boolean {
    const { ttlMs = Infinity } = written;
    return (this.#keptUntil.get(keyOf(written)) ?? -Infinity) >= performance.now() + needed * ttlMs;
  }

  async #keep(written: WrittenSession, keepsPlace: boolean): Promise<OwnEntry> {
    const { owner, sessionId, ttlMs } = written;
    const sent = performance.now();
    const entry = await this.#lists.enter(owner, sessionId, { ttlMs, keepsPlace });
    this.#offset = entry.score / 1_000 - performance.now();
    this.#lastScore = Math.max(this.#lastScore, entry.score);
    if (ttlMs !== 0) {
      this.#keptUntil.set(keyOf(written), ttlMs === undefined ? Infinity : sent + kept * ttlMs);
    }
    if (ttlMs !== undefined) {
      this.#onKept(owner);
    }
    return entry;
  }

  /** Grows with each write of this process, also with two of one microsecond. */
  #nextScore(): number {
    const now = Math.floor((performance.now() + this.#offset) * 1_000);
    this.#lastScore = Math.max(this.#lastScore + 1, now);
    return this.#lastScore;
  }
}

/** A name for the entry of a session, which no other has. */
export function keyOf({ owner, sessionId }: WrittenSession): string {
  return `${Buffer.byteLength(owner)} ${owner} ${sessionId}`;
}
