import { AsyncLocalStorage } from "node:async_hooks";

/** A hold of this process. */
export interface LocalHolder {
  /** The holder, which begins error messages. */
  readonly owner: string;
  /** True if the calling code is part of the holding run, and would wait for itself. */
  readonly isCaller: () => boolean;
  /** Releases the hold. Never rejects. */
  readonly release: () => Promise<void>;
}

/** A place in a queue of this process. */
export interface LinePlace {
  /** Resolves when all before it have left; undefined if it is the first. */
  readonly first: Promise<void> | undefined;
  /** Leaves the queue, also before being the first. */
  leave(): void;
}

/** Sessions that this process holds through one memory, and its queues for them. */
export class LocalHolds {
  /** How the tickets of this process begin, for others that release its holds when it is dead. */
  mark = "";
  /** The holders of each session; several, if one lost its hold and does not know it yet. */
  readonly #held = new Map<string, Set<LocalHolder>>();
  /** The end of each queue: a promise that resolves when it is empty. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Registers a holder of the session; returns a function that removes it. */
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

  /** The hold of the session in whose run the calling code is. */
  around(sessionId: string): LocalHolder | undefined {
    return [...(this.#held.get(sessionId) ?? [])].find((holder) => holder.isCaller());
  }

  /** Releases all holds, for a memory that is closed while runs are under way. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#held.values()].flatMap((holders) => [...holders]).map(({ release }) => release()));
  }

  /** True while this process holds the session, as far as it knows. */
  has(sessionId: string): boolean {
    return this.#held.has(sessionId);
  }

  /** Joins this process's FIFO queue for a session, so that only its first waiter polls the store. */
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

/** The turns around the running code. */
const running = new AsyncLocalStorage<readonly RunningTurn[]>();

/** A turn whose work is running. */
export class RunningTurn {
  readonly #store: object;
  readonly #sessionId: string;
  #isOver = false;

  constructor(store: object, sessionId: string) {
    this.#store = store;
    this.#sessionId = sessionId;
  }

  /** Runs a function inside the turn, which its asynchronous calls can detect until it ends. */
  async run<Result>(work: () => Result | Promise<Result>): Promise<Result> {
    return running.run([...(running.getStore() ?? []), this], work);
  }

  end(): void {
    this.#isOver = true;
  }

  isOf(store: object, sessionId: string): boolean {
    return !this.#isOver && this.#store === store && this.#sessionId === sessionId;
  }
}

/** True inside an active turn of the session: a nested one would deadlock. */
export function isWithin(store: object, sessionId: string): boolean {
  return (running.getStore() ?? []).some((turn) => turn.isOf(store, sessionId));
}
