import { BoundedMap } from "../../base/bounded-map.js";
import { around } from "./groups.js";
import type { SessionRef } from "./session-ref.js";
import type { SessionStore } from "./session-store.js";
import type { AppendResult } from "./session-writes.js";

/** Methods whose reads keep a session alive. */
const reads = new Set(["readView", "readPage", "readSide"]);
/**
 * Minimum interval between two extensions of a session, in milliseconds; a tenth of its time to live if that is less.
 */
const interval = 1_000;
const capacity = 10_000;

/** How reads extend the life of sessions. */
interface Refreshing {
  readonly ttlMs: number;
  /** Work under way, with its session: each extension is put into it. */
  readonly pending: Map<Promise<unknown>, string>;
}

/**
 * Wraps a store so that reads of messages and side data extend the life of the session: `sessionTTL.refreshOnRead`.
 * The extension is sent with the read, which does not wait for it; after a failure the next read tries again.
 */
export function refreshedOnRead(store: SessionStore, { ttlMs, pending }: Refreshing): SessionStore {
  const extended = new BoundedMap<string, number>(capacity);
  const pause = Math.min(interval, ttlMs / 10);
  const extend = ({ id, owner }: SessionRef) => {
    const key = JSON.stringify([id, owner]);
    const now = performance.now();
    if (now - (extended.get(key) ?? -Infinity) < pause) {
      return;
    }
    extended.set(key, now);
    const work = store.data.extendExpiry({ id, ...(owner !== undefined && { owner }) }, ttlMs);
    const tracked: Promise<unknown> = work
      .catch(() => extended.delete(key))
      .finally(() => {
        pending.delete(tracked);
      });
    pending.set(tracked, id);
  };
  return around(store, async ({ method, session }, go) => {
    const answer = go();
    if (reads.has(method)) {
      // In the same tick, so that one write to the socket carries both.
      extend(session);
    }
    const result = await answer;
    // An append that returns the stored turn is a read of it.
    if (method === "append" && (result as AppendResult).turn !== undefined) {
      extend(session);
    }
    return result;
  });
}
