import type { SessionBeside } from "../../store/beside.js";
import type { SessionRef } from "../../store/session-ref.js";
import { RunningTurn } from "./nested-holds.js";
import type { SpentTickets } from "./spent-tickets.js";

/** What a turn that was taken needs to stay and to be given back. */
export interface HeldTurnParts {
  readonly beside: SessionBeside;
  /** The store, as all users of the session know it. */
  readonly store: object;
  readonly session: SessionRef;
  readonly ticket: string;
  readonly holdMs: number;
  readonly ttlMs: number | undefined;
  /** Milliseconds without a sign of life after which the turn is no longer renewed. */
  readonly longestMs: number;
  readonly spent: SpentTickets;
  /** Called when the turn is given back. */
  readonly onRelease: () => void;
}

/** The turn of a session: renewed until it is given back, lost, or its run shows no life any more. */
export class HeldTurn {
  readonly #parts: HeldTurnParts;
  readonly #running: RunningTurn;
  readonly #timer: ReturnType<typeof setInterval>;
  #lastSign = performance.now();
  #isWorking = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldTurnParts) {
    this.#parts = parts;
    const { store, session, holdMs, ttlMs = Infinity } = parts;
    this.#running = new RunningTurn(store, session.id);
    this.#timer = setInterval(() => this.#renew(), Math.max(1, Math.floor(Math.min(holdMs, ttlMs) / 3)));
    this.#timer.unref();
  }

  /** The run that holds the turn does something; while it `isWorking`, it need give no other sign. */
  signOfLife({ isWorking = false }: { readonly isWorking?: boolean } = {}): void {
    this.#lastSign = performance.now();
    this.#isWorking = isWorking;
  }

  /** Runs a function within the turn: another turn of the session that it begins is refused at once. */
  within<Result>(run: () => Result | Promise<Result>): Promise<Result> {
    return this.#running.run(run);
  }

  /** Lets the next turn begin. Never rejects: where Redis is away it is tried again until `holdMs` is over. */
  release(): Promise<void> {
    clearInterval(this.#timer);
    this.#running.end();
    const { beside, session, ticket, holdMs, spent, onRelease } = this.#parts;
    onRelease();
    this.#released ??= spent.giveBack({ beside, session, ticket, holdMs });
    return this.#released;
  }

  #renew(): void {
    const { beside, session, ticket, holdMs, ttlMs, longestMs } = this.#parts;
    if (!this.#isWorking && performance.now() - this.#lastSign > longestMs) {
      clearInterval(this.#timer);
    } else {
      const turn = { ticket, holdMs, ...(ttlMs !== undefined && { ttlMs }) };
      const lost = (isHeld: boolean) => void (isHeld || clearInterval(this.#timer));
      // One that fails is tried again: the connection may be back in time.
      beside.renewHold(session, turn).then(lost, () => undefined);
    }
  }
}
