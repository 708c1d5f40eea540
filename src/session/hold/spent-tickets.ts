import { StoreError } from "../../base/errors.js";
import type { SessionBeside } from "../../store/beside.js";
import type { SessionRef } from "../../store/session-ref.js";

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
