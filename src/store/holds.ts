import type { SessionHold, SessionRef } from "./session-ref.js";

/**
 * Capability `turnQueue`: one turn of a session at a time, first come, first served, and a fence that keeps a turn
 * whose time ran out from writing behind a later one.
 *
 * A turn is *held* by a ticket for a limited time, which its holder extends while it works. Whoever wants the next turn
 * takes a place in the session's queue by the same call, and repeats it to be seen: a waiter that is not seen for
 * `graceMs` loses its place. The queue belongs to the session: `clear` and expiry end it. A store with a queue honours
 * `hold` in every write.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const held = { ticket: "worker-1", holdMs: 30_000 };
 * const place = await store.turnQueue.enter({ id: "chat-7" }, { ...held, graceMs: 5_000 });
 * if (place.isHeld) {
 *   const session = { id: "chat-7", hold: place.hold };
 *   const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 *   await store.append(session, { records: [hello] });
 *   await store.turnQueue.renew(session, held); // for long work, before holdMs is over
 *   await store.turnQueue.leave(session, held.ticket);
 * }
 */
export interface TurnQueue {
  /**
   * Takes the turn if nobody holds it and nobody waits before this ticket; else keeps the ticket's place in the queue.
   * Taking it raises the session's fence above all earlier ones, in the same step, and creates the session if needed.
   * Called again by the holder, it extends the turn and gives the same fence.
   *
   * @throws ConflictError `other_owner`; StoreError `erased`.
   */
  enter(session: SessionRef, entry: TurnEntry): Promise<TurnPlace>;
  /** Extends a turn that is held; false if it no longer is. */
  renew(session: SessionRef, turn: HeldTicket): Promise<boolean>;
  /**
   * Clears the session of a hold, but for its queue and its fence, so that the turn that holds it goes on. Returns the
   * new epoch.
   *
   * @throws ConflictError `fenced`, `epoch` or `other_owner`; StoreError `erased`.
   */
  restart(session: SessionRef): Promise<string>;
  /** Gives the turn, or the place in the queue, back. A session that only the turn created ends with it. */
  leave(session: SessionRef, ticket: string): Promise<void>;
}

/** A ticket of its holder's own, 1 to 64 characters of base64url, and how long it holds the turn, in milliseconds. */
export interface HeldTicket {
  /** The ticket: a random text that its holder chose. */
  readonly ticket: string;
  /** Milliseconds from now for which the turn is held. */
  readonly holdMs: number;
  /** The session's time to live: the session does not expire while the turn is taken and renewed in time. */
  readonly ttlMs?: number;
}

/** A request for the turn. */
export interface TurnEntry extends HeldTicket {
  /** Waiters that were not seen for so many milliseconds lose their place. */
  readonly graceMs: number;
}

/** Either the turn, or the number of waiters before the ticket. */
export type TurnPlace =
  | {
      /** The ticket holds the turn. */
      readonly isHeld: true;
      /** What the writes of the turn carry, in their {@link SessionRef}. */
      readonly hold: Required<SessionHold>;
    }
  | {
      /** The ticket waits. */
      readonly isHeld: false;
      /** Tickets in front of this one: the holder's, if any, is not among them. */
      readonly ahead: number;
    };
