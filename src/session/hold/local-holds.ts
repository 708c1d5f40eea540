import { SpentTickets } from "./spent-tickets.js";

/** A turn that this process holds. */
export interface LocalHolder {
  /** What took it: the first words of an error. */
  readonly owner: string;
  /** True where the code that asks is a part of the run that holds the turn, and would wait for itself. */
  readonly isCaller: () => boolean;
}

/** A place in a line of this process. */
export interface LinePlace {
  /** Resolves when all before it have left; undefined where nobody is. */
  readonly first: Promise<void> | undefined;
  /** Lets the next one in the line go on; also for one that gives up before it is the first. */
  leave(): void;
}

/** The sessions that this process holds through one memory, and its lines for them. */
export class LocalHolds {
  /** Holds that could not be given back. */
  readonly spent = new SpentTickets();
  /** The holders of each session: several, where one was lost and its run does not know it yet. */
  readonly #held = new Map<string, Set<LocalHolder>>();
  /** The end of each line: a promise that resolves when nobody in it is waiting any more. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Notes that this process holds the session; returns a function that ends this, at its first call. */
  note(sessionId: string, holder: LocalHolder): () => void {
    const holders = this.#held.get(sessionId) ?? new Set();
    this.#held.set(sessionId, holders.add(holder));
    return () => {
      holders.delete(holder);
      if (holders.size === 0 && this.#held.get(sessionId) === holders) {
        this.#held.delete(sessionId);
      }
    };
  }

  /** The hold of the session that the calling code is a part of. */
  around(sessionId: string): LocalHolder | undefined {
    return [...(this.#held.get(sessionId) ?? [])].find((holder) => holder.isCaller());
  }

  /** True while this process holds the session, as far as it knows. */
  has(sessionId: string): boolean {
    return this.#held.has(sessionId);
  }

  /**
   * Joins the line of this process for a session, so that only the first of a process asks the store, and those of one
   * process take their turns in the order in which they came.
   */
  join(sessionId: string): LinePlace {
    const first = this.#ends.get(sessionId);
    let leave!: () => void;
    const own = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const end = first === undefined ? own : first.then(() => own);
    this.#ends.set(sessionId, end);
    void end.then(() => this.#ends.get(sessionId) === end && this.#ends.delete(sessionId));
    return { first, leave };
  }
}
