import { BoundedMap } from "../base/bounded-map.js";
import { accessPlace } from "./bound-store.js";
import { ConfigurationError } from "../base/errors.js";
import { requireCapability, type StoreWith } from "./capabilities.js";
import type { SessionAccess } from "./lists.js";
import type { SessionStore } from "./session-store.js";
import type { AppendRequest, AppendResult } from "./session-writes.js";
import { shareLimits } from "./size-limits.js";

/** Methods whose reads keep a session alive. */
const reads = new Set<string | symbol>(["readView", "readLog", "readPage", "readRounds", "readSide"]);
/** Milliseconds in which a session is extended once, or a tenth of its time to live where that is less. */
const interval = 1_000;
const capacity = 10_000;
const originals = new WeakMap<object, SessionStore>();

/** How reads extend the life of sessions. */
interface Refreshing {
  readonly ttlMs: number;
  /** Extensions under way. */
  readonly pending: Set<Promise<unknown>>;
}

/**
 * A store whose reads extend the life of sessions, for the option `refreshTTLOnRead`.
 *
 * @throws ConfigurationError `refreshTTLOnRead` without a time to live; `store` for one that cannot; `user` is what the
 *   user constructs.
 */
export function refreshedOnRead(
  user: string,
  store: SessionStore,
  { ttlMs, pending }: Pick<Refreshing, "pending"> & { readonly ttlMs: number | undefined },
): SessionStore {
  if (ttlMs === undefined) {
    const reason = 'option "refreshTTLOnRead" needs "sessionTTL", the time that a read gives the session.';
    throw new ConfigurationError("refreshTTLOnRead", `${user}: ${reason}`);
  }
  return refreshingStore(requireCapability(`${user}: refreshTTLOnRead`, store, "expiry"), { ttlMs, pending });
}

/**
 * The same store, whose reads of messages and side data extend the life of the session. The extension is sent with the
 * read, which does not wait for it; where it fails, the next read tries again.
 */
function refreshingStore(store: StoreWith<"expiry">, { ttlMs, pending }: Refreshing): SessionStore {
  const extended = new BoundedMap<string, number>(capacity);
  const pause = Math.min(interval, ttlMs / 10);
  const extend = (sessionId: string, { owner }: SessionAccess = {}) => {
    const key = JSON.stringify([sessionId, owner]);
    const now = performance.now();
    if (now - (extended.get(key) ?? -Infinity) < pause) {
      return;
    }
    extended.set(key, now);
    const work = store.extendExpiry(sessionId, { ttlMs, ...(owner !== undefined && { owner }) });
    const tracked: Promise<unknown> = work
      .catch(() => extended.delete(key))
      .finally(() => {
        pending.delete(tracked);
      });
    pending.add(tracked);
  };
  const refreshing: SessionStore = reading(store, extend);
  shareLimits(refreshing, store);
  originals.set(refreshing, store);
  return refreshing;
}

/** The store without the extensions; any other store itself. For what reads sessions that nobody looks at. */
export function withoutRefresh(store: SessionStore): SessionStore {
  return originals.get(store) ?? store;
}

type Extend = (sessionId: string, access?: SessionAccess) => void;
type AppendCall = [sessionId: string, request: AppendRequest];

/** A write that finds its turn stored is a read of it. */
async function repeated(
  writing: Promise<AppendResult>,
  [sessionId, request]: AppendCall,
  extend: Extend,
): Promise<AppendResult> {
  const result = await writing;
  if (result.turn !== undefined) {
    extend(sessionId, request);
  }
  return result;
}

function reading<T extends object>(target: T, extend: Extend): T {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name === "pages" && typeof value === "object" && value !== null) {
        return reading(value, extend);
      }
      if (typeof value !== "function") {
        return value;
      }
      const place = reads.has(name) ? accessPlace(name as string) : undefined;
      return (...given: unknown[]): unknown => {
        // In one tick, so that both travel together.
        const result: unknown = Reflect.apply(value, target, given);
        if (place !== undefined) {
          extend(given[0] as string, given[place] as SessionAccess | undefined);
        }
        return name === "append" ? repeated(result as Promise<AppendResult>, given as AppendCall, extend) : result;
      };
    },
  });
}
