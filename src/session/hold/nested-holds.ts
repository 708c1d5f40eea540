import { AsyncLocalStorage } from "node:async_hooks";

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
