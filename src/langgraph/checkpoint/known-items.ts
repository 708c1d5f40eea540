import { BoundedMap } from "../../base/bounded-map.js";
import { shortHash } from "../../base/ids.js";

/** Threads of which a process knows what is stored. */
const mostThreads = 500;

/** The position of the first item that a write brings: a thread begins with an empty one. */
const firstOfAll = 1;

/** The items of a thread that a process knows, valid as long as the thread has this token: others may not write. */
export interface KnownThread {
  /** Empty for a thread that is not stored. */
  readonly token: string;
  /** Digest of a text → its position. */
  readonly positions: Map<string, number>;
}

/** The changes of a write. */
export interface WrittenItems {
  readonly base: number;
  /** The thread's token before and after the write; "" where the write dropped items. */
  readonly before: string;
  readonly token: string;
  /** Digests of the texts that were sent: each list names one item. */
  readonly digests: readonly (readonly string[])[];
}

/** Cache of the items that this process has seen, by thread. Losing it costs a read. */
export class KnownItems {
  readonly #threads = new BoundedMap<string, KnownThread>(mostThreads);

  /** The known items of a thread; undefined if there are none. */
  of(threadId: string): KnownThread | undefined {
    const thread = this.#threads.get(threadId);
    if (thread !== undefined) {
      this.#threads.set(threadId, thread);
    }
    return thread;
  }

  /** Notes what a read showed. */
  noteRead(threadId: string, token: string, items: ReadonlyMap<number, string>): KnownThread {
    const current = this.#threads.get(threadId);
    const thread = current?.token === token ? current : { token, positions: new Map<string, number>() };
    // Mostly all are known, and a digest takes a hundred times as long as to see that.
    const positions = new Set(thread.positions.values());
    for (const [position, text] of items) {
      if (!positions.has(position)) {
        thread.positions.set(digestOf(text), position);
      }
    }
    this.#threads.set(threadId, thread);
    return thread;
  }

  /**
   * Records the items that a write stored. Forgets a thread of which the write dropped some, or of which nothing else
   * is known, unless the write created it: its other items would be stored again.
   */
  noteWrite(threadId: string, { base, before, token, digests }: WrittenItems): void {
    const current = this.#threads.get(threadId);
    const isBegun = base === firstOfAll && (current?.token ?? "") === "";
    if (token === "" || (current?.token !== before && !isBegun)) {
      this.#threads.delete(threadId);
      return;
    }
    const positions = isBegun ? new Map<string, number>() : current!.positions;
    digests.forEach((names, index) => names.forEach((name) => positions.set(name, base + index)));
    this.#threads.set(threadId, { token, positions });
  }

  /** Forgets a thread: the next write of it reads first. */
  forget(threadId: string): void {
    this.#threads.delete(threadId);
  }
}

/** The name of a text. It never leaves the process. */
export function digestOf(text: string): string {
  return shortHash(text, 43);
}
