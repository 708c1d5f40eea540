import type { SessionRef } from "../store/session-ref.js";
import {
  checkPageRequest,
  pageBounds,
  type SessionPages,
  type StoredPage,
  type StoredPageRequest,
  type StoredReduction,
  type StoredStats,
} from "../store/session-pages.js";
import { nextPosition, newSession, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** Pages and figures of the sessions of a store in memory. */
export class InMemoryPages implements SessionPages {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    checkPageRequest(request);
    return this.#sessions.call("readPage", session, () => {
      return pageOf(this.#sessions.find(session) ?? newSession(), request);
    });
  }

  async readStats(session: SessionRef): Promise<StoredStats | undefined> {
    return this.#sessions.read("readStats", session, { found: statsOf, missing: () => undefined });
  }

  async readReductions(session: SessionRef): Promise<readonly StoredReduction[]> {
    return this.#sessions.read("readReductions", session, {
      found: ({ reductions }) => [...reductions],
      missing: () => [],
    });
  }
}

function pageOf(session: InMemorySession, request: StoredPageRequest): StoredPage | undefined {
  const { epoch, rev, base, start, log, head } = session;
  const isNew = session.created === undefined;
  const next = nextPosition(session);
  const id = request.around ?? request.since;
  const found = id === undefined ? undefined : (session.ids.get(id)?.position ?? -1);
  if (found !== undefined && (found < base || found >= next)) {
    return undefined;
  }
  const { from, to } = pageBounds(request, { base, next, found });
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
    head: from < start ? head : "",
    damaged: false,
  };
}

function statsOf(session: InMemorySession): StoredStats {
  const { base, start, log, headCount, rounds, total, expiresAt } = session;
  return {
    messages: log.length,
    rounds,
    viewMessages: headCount + nextPosition(session) - start,
    viewTokens: total?.tokens,
    counter: total?.counter ?? "",
    isWhole: base === 0 && start === 0 && headCount === 0,
    reductions: session.reduced,
    createdAt: session.created,
    updatedAt: session.updated,
    expiresAt,
    damaged: false,
  };
}
