import type { SessionAccess } from "./lists.js";

/**
 * Capability `turnQueue`: one turn of a session at a time, first come, first served, and a fence that keeps a turn
 * whose time ran out from writing behind a later one.
 *
 * A turn is *held* by a ticket for a limited time, which its holder extends while it works. Whoever wants the next turn
 * takes a place in the session's queue by the same call, and repeats it to be seen: a waiter that is not seen for
 * `graceMs` loses its place. The queue belongs to the session: `clear` and expiry end it. A store with a queue honours
 * the fencing tokens of all requests.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * const held = { ticket: "worker-1", holdMs: 30_000 };
 * const place = await store.turnQueue.enter("chat-7", { ...held, graceMs: 5_000 });
 * if (place.isHeld) {
 *   const { fencingToken, epoch: expectedEpoch } = place;
 *   const hello = { id: "m1", digest: "AAAAAAAA", record: '{"type":"human","data":{"content":"Hi"}}' };
 *   await store.append("chat-7", { records: [hello], fencingToken, expectedEpoch });
 *   await store.turnQueue.renew("chat-7", held); // for long work, before holdMs is over
 *   await store.turnQueue.leave("chat-7", held.ticket);
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
  enter(sessionId: string, entry: TurnEntry): Promise<TurnPlace>;
  /** Extends a turn that is held; false if it no longer is. */
  renew(sessionId: string, turn: HeldTicket): Promise<boolean>;
  /**
   * Clears the session, but for its queue and its fence, so that the turn that held it goes on. Returns the new epoch.
   *
   * @throws ConflictError `fenced`, `epoch` or `other_owner`; StoreError `erased`.
   */
  restart(sessionId: string, fence: TurnFence & SessionAccess): Promise<string>;
  /** Gives the turn, or the place in the queue, back. A session that only the turn created ends with it. */
  leave(sessionId: string, ticket: string): Promise<void>;
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
export interface TurnEntry extends HeldTicket, SessionAccess {
  /** Waiters that were not seen for so many milliseconds lose their place. */
  readonly graceMs: number;
}

/** Either the turn, or the number of waiters before the ticket. */
export type TurnPlace =
  | ({
      /** The ticket holds the turn. */
      readonly isHeld: true;
    } & TurnFence)
  | {
      /** The ticket waits. */
      readonly isHeld: false;
      /** Tickets in front of this one: the holder's, if any, is not among them. */
      readonly ahead: number;
    };

/** What the writes of a turn carry: no write passes once a later turn has begun, or the session's life has ended. */
export interface TurnFence {
  /** Higher than that of every turn before. */
  readonly fencingToken: number;
  /** The session's epoch when the turn was taken. */
  readonly epoch: string;
}

/** A write of a turn that has the session for itself. */
export interface Fenced {
  /** Refuse with `epoch` unless this is still the session's epoch; `""` means that the session must not exist. */
  readonly expectedEpoch?: string;
  /** Refuse with `fenced` if a higher token was used before. An append remembers it otherwise. */
  readonly fencingToken?: number;
}
