import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../errors.js";
import type { ConversationSession } from "../memory/conversation-session.js";
import { requireCapability } from "../store/capabilities.js";

/** How long a process that died keeps the others from the session. */
const leaseMs = 30_000;
const renewalMs = 10_000;
/** A run that nobody reads any more (a dropped stream) holds its session no longer than this. */
const longestMs = 15 * 60_000;
const patienceMs = 60_000;
const [shortestWaitMs, longestWaitMs] = [20, 400];

/** The right to run the next turn of a session. */
export interface TurnLease {
  /** Lets the next turn begin. Never rejects: a lease that cannot be given back expires. */
  release(): Promise<void>;
  /**
   * Says whether the lease is to be renewed. Without it the lease expires within half a minute: for a pause from which
   * the run may never come back.
   */
  keep(isKept: boolean): void;
}

/**
 * Waits until no other run holds the session, and takes it for one turn. The lease is renewed while the turn runs.
 *
 * @throws ConflictError `busy` where the session is not free within a minute; an AbortError where the signal aborts.
 */
export async function takeTurn(session: ConversationSession, signal: AbortSignal | undefined): Promise<TurnLease> {
  const { sessionId, context } = session;
  const store = requireCapability("oneTurnAtATime", context.store, "leases");
  const deadline = Date.now() + patienceMs;
  for (let wait = shortestWaitMs; ; wait = Math.min(wait * 2, longestWaitMs)) {
    const token = await store.acquireLease(sessionId, leaseMs, { purpose: "turn" });
    if (token !== undefined) {
      return held(session, token);
    }
    if (Date.now() > deadline) {
      const message = "Another run of this session did not end within a minute; try again.";
      throw new ConflictError(message, { code: "busy", sessionId });
    }
    await delay(wait * (0.5 + Math.random() / 2), undefined, signal && { signal });
  }
}

function held({ sessionId, context }: ConversationSession, token: string): TurnLease {
  const store = requireCapability("oneTurnAtATime", context.store, "leases");
  const end = Date.now() + longestMs;
  const timer = setInterval(() => {
    if (Date.now() > end) {
      clearInterval(timer);
      return;
    }
    if (isKept) {
      store.acquireLease(sessionId, leaseMs, { purpose: "turn", held: token }).catch(() => undefined);
    }
  }, renewalMs);
  timer.unref();
  let released: Promise<void> | undefined;
  let isKept = true;
  return {
    keep: (kept) => {
      isKept = kept;
    },
    release: () => {
      clearInterval(timer);
      released ??= store.releaseLease(sessionId, token, { purpose: "turn" }).catch(() => undefined);
      return released;
    },
  };
}
