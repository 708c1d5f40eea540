import type { SessionData } from "../contract/session-data.js";
import type { HeldTicket, HoldPlace, HoldRequest } from "../contract/holds.js";
import { randomToken } from "../../base/ids.js";
import {
  pageBounds,
  statsOf,
  type StoredPage,
  type StoredPageRequest,
  type StoredStats,
} from "../contract/session-pages.js";
import type { SessionRef } from "../contract/session-ref.js";
import { sideWithPrefix, type SideWrite } from "../contract/side-fields.js";
import { noRecords } from "../contract/append-decision.js";
import { appendTo } from "./append.js";
import { stateOf } from "./copies.js";
import { isUntouched, keepAlive, acquireHold } from "./holds.js";
import { newSession, nextPosition, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** In-memory data of sessions beside their logs. */
export class InMemorySessionData implements SessionData {
  readonly #sessions: InMemorySessions;
  /** Times in milliseconds since 1970. */
  readonly #leases = new Map<string, { readonly token: string; readonly expiresAt: number }>();

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    return this.#sessions.call("readSide", session, () => {
      return sideWithPrefix(this.#sessions.readable(session)?.side ?? [], prefix);
    });
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    const write = { session, request: { records: [], side: changes, ttlMs: changes.ttlMs }, plan: noRecords };
    return this.#sessions.call("writeSide", session, () => appendTo(this.#sessions, write) !== "stale");
  }

  async readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    return this.#sessions.call("readPage", session, () => {
      return screenPageOf(this.#sessions.readable(session) ?? newSession(), request);
    });
  }

  async readStats(session: SessionRef): Promise<StoredStats | undefined> {
    return this.#sessions.call("readStats", session, () => {
      const stored = this.#sessions.find(session);
      return stored && statsOf(stateOf(stored));
    });
  }

  async acquireHold(session: SessionRef, request: HoldRequest): Promise<HoldPlace> {
    return this.#sessions.call("acquireHold", session, () => acquireHold(this.#sessions, session, request));
  }

  async renewHold({ id }: SessionRef, held: HeldTicket): Promise<boolean> {
    return this.#sessions.call("renewHold", { id }, () => {
      const stored = this.#sessions.find({ id });
      const holder = stored?.queue.holder;
      if (stored === undefined || holder?.ticket !== held.ticket) {
        return false;
      }
      stored.queue.holder = { ...holder, endsAt: this.#sessions.now() + held.holdMs };
      keepAlive(this.#sessions, stored, held);
      return true;
    });
  }

  async releaseHold({ id }: SessionRef, ticket: string): Promise<void> {
    return this.#sessions.call("releaseHold", { id }, () => {
      const stored = this.#sessions.find({ id });
      stored?.queue.waiters.delete(ticket);
      if (stored?.queue.holder?.ticket === ticket) {
        stored.queue.holder = undefined;
        if (stored.queue.waiters.size === 0 && isUntouched(stored)) {
          this.#sessions.delete(id);
        }
      }
    });
  }

  async acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    return this.#sessions.call("acquireLease", session, () => {
      const now = this.#sessions.now();
      if ((this.#leases.get(session.id)?.expiresAt ?? -1) >= now) {
        return undefined;
      }
      const token = randomToken();
      this.#leases.set(session.id, { token, expiresAt: now + ttlMs });
      return token;
    });
  }

  async releaseLease(session: SessionRef, token: string): Promise<void> {
    return this.#sessions.call("releaseLease", session, () => {
      if (this.#leases.get(session.id)?.token === token) {
        this.#leases.delete(session.id);
      }
    });
  }

  async extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    return this.#sessions.call("extendExpiry", session, () => {
      const stored = this.#sessions.find(session);
      const isMortal = stored?.expiresAt !== undefined;
      this.#sessions.refresh(isMortal ? stored : undefined, ttlMs);
      return isMortal;
    });
  }
}

function screenPageOf(session: InMemorySession, request: StoredPageRequest): StoredPage | undefined {
  const { epoch, rev, base, start, rounds, log, head } = session;
  const isNew = session.created === undefined;
  const next = nextPosition(session);
  const id = request.around ?? request.since;
  const position = id === undefined ? undefined : (session.ids.get(id)?.position ?? -1);
  if (position !== undefined && (position < base || position >= next)) {
    return undefined;
  }
  const { from, to } = pageBounds(request, { base, next, position });
  const records = log.slice(from - base, to - base);
  return {
    epoch: isNew ? "" : epoch,
    rev: isNew ? "" : rev,
    records,
    from,
    to,
    base,
    start,
    next,
    rounds,
    head: from < start ? head : "",
    damaged: false,
  };
}
