import { StoreError } from "../../base/errors.js";
import type { SessionBeside } from "../../store/beside.js";
import type { SessionRef } from "../../store/session-ref.js";
import { AsyncLocalStorage } from "node:async_hooks";

/** A turn that this process holds. */
export interface LocalHolder {
  /** The holder, which begins error messages. */
  readonly owner: string;
  /** True where the code that asks is a part of the run that holds the turn, and would wait for itself. */
  readonly isCaller: () => boolean;
  /** Gives the hold back. Never rejects. */
  readonly release: () => Promise<void>;
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

  /** Gives all holds back, for a memory that is closed while runs are under way: nobody waits for them. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#held.values()].flatMap((holders) => [...holders]).map(({ release }) => release()));
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

const [firstPauseMs, longestPauseMs] = [100, 2_000];

/** A ticket that its process no longer needs. */
export interface SpentTicket {
  readonly beside: SessionBeside;
  readonly session: SessionRef;
  readonly ticket: string;
  /** Milliseconds after which the turn ends by itself. */
  readonly holdMs: number;
}

/** The tickets that this process could not give back, because Redis was away when their turns ended. */
export class SpentTickets {
  readonly #bySession = new Map<string, Set<SpentTicket>>();

  /**
   * Gives a turn, or a place in the beside, back. Where Redis is away it is tried again until the turn has ended by
   * itself. Never rejects; resolves after the first try.
   */
  async giveBack(ticket: SpentTicket): Promise<void> {
    if (await isGivenBack(ticket)) {
      return;
    }
    const { id } = ticket.session;
    const tickets = this.#bySession.get(id) ?? new Set();
    this.#bySession.set(id, tickets.add(ticket));
    void tryAgain(ticket).finally(() => {
      tickets.delete(ticket);
      if (tickets.size === 0 && this.#bySession.get(id) === tickets) {
        this.#bySession.delete(id);
      }
    });
  }

  /** Tries again at once for a session, so that nobody in this process waits for a turn that is over. */
  async giveBackAll(sessionId: string): Promise<void> {
    await Promise.all([...(this.#bySession.get(sessionId) ?? [])].map((ticket) => isGivenBack(ticket)));
  }
}

/** True also where nothing can be given back any more, because the store is closed. */
async function isGivenBack({ beside, session, ticket }: SpentTicket): Promise<boolean> {
  try {
    await beside.giveBackHold(session, ticket);
    return true;
  } catch (error) {
    return StoreError.isInstance(error) && error.code === "closed";
  }
}

async function tryAgain(ticket: SpentTicket): Promise<void> {
  const end = performance.now() + ticket.holdMs;
  for (let pause = firstPauseMs; performance.now() < end; pause = Math.min(2 * pause, longestPauseMs)) {
    await new Promise<void>((resolve) => setTimeout(resolve, pause).unref());
    if (await isGivenBack(ticket)) {
      return;
    }
  }
}

/** The turns within which the running code was called. */
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

  /** Runs a function within the turn: what it calls, and what that calls, knows of the turn until it ends. */
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

/** True within a turn of the session that is not over: another one would wait for the code that waits for it. */
export function isWithin(store: object, sessionId: string): boolean {
  return (running.getStore() ?? []).some((turn) => turn.isOf(store, sessionId));
}
