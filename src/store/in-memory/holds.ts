import type { SessionRef } from "../contract/session-ref.js";
import type { HeldTicket, HoldRequest, HoldPlace } from "../contract/session-reads.js";
import { newSession, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** The holder of a session and its queue; times in milliseconds of the store's clock. */
export interface InMemoryHold {
  holder: { readonly ticket: string; readonly endsAt: number; readonly token: number } | undefined;
  /** Time of each waiter's last poll, in FIFO order. */
  readonly waiters: Map<string, number>;
}

/** Extends the life of a session that would expire before its hold is renewed again. */
export function keepAlive(
  sessions: InMemorySessions,
  session: InMemorySession,
  { holdMs, ttlMs }: Pick<HeldTicket, "holdMs" | "ttlMs">,
): void {
  const left = (session.expiresAt ?? Infinity) - sessions.now();
  if (ttlMs !== undefined && left < Math.min(2 * holdMs, ttlMs / 2)) {
    sessions.refresh(session, ttlMs);
  }
}

/** Acquires a session's hold, or a place in its queue; creates the session if needed. */
export function acquireHold(sessions: InMemorySessions, session: SessionRef, entry: HoldRequest): HoldPlace {
  const before = sessions.writable("acquireHold", session, ["erased"]);
  const stored = before ?? newSession();
  const now = sessions.now();
  const ahead = aheadIn(stored, entry, now);
  const place: HoldPlace = ahead === undefined ? takeIn(stored, entry, now) : { isHeld: false, ahead };
  if (before === undefined) {
    sessions.keep(session.id, stored, entry.ttlMs);
  } else if (place.isHeld) {
    keepAlive(sessions, stored, entry);
  }
  return place;
}

/** Number of waiters ahead of the ticket, which keeps its place in the queue; undefined if it can acquire the hold. */
export function aheadIn({ queue }: InMemorySession, { ticket, graceMs }: HoldRequest, now: number): number | undefined {
  if (queue.holder?.ticket === ticket) {
    return undefined;
  }
  queue.waiters.set(ticket, now);
  for (const [other, seen] of queue.waiters) {
    if (now - seen > graceMs) {
      queue.waiters.delete(other);
    }
  }
  const ahead = [...queue.waiters.keys()].indexOf(ticket);
  return ahead > 0 || (queue.holder !== undefined && queue.holder.endsAt >= now) ? ahead : undefined;
}

/** Acquires the hold for the first ticket of the queue. */
export function takeIn(session: InMemorySession, { ticket, holdMs }: HoldRequest, now: number): HoldPlace {
  const { queue, epoch } = session;
  const isOwn = queue.holder?.ticket === ticket;
  queue.waiters.delete(ticket);
  session.fence = isOwn ? session.fence : Math.max(now * 1000, session.fence + 1);
  const token = isOwn ? queue.holder!.token : session.fence;
  queue.holder = { ticket, endsAt: now + holdMs, token };
  return { isHeld: true, hold: { token, epoch } };
}

/** True if nothing was ever written to a session. */
export function isUntouched({ epoch, rev, base, log, side, total, ownership }: InMemorySession): boolean {
  const isNamed = ownership.owner !== undefined || ownership.labelVersion !== "";
  return epoch === rev && base === 0 && log.length === 0 && side.size === 0 && total === undefined && !isNamed;
}
