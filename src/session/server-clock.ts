import { originalStore } from "../store/bound-store.js";
import type { SessionStore } from "../store/session-store.js";

/** Milliseconds by which a store's clock is ahead of the one of this process. */
const offsets = new WeakMap<object, number>();

/**
 * The time in milliseconds since 1970 by the clock of a store's server, as far as this process knows it: the local time
 * until the first write has returned.
 */
export function serverTime(store: SessionStore): number {
  return Math.max(0, Math.round(Date.now() + (offsets.get(originalStore(store)) ?? 0)));
}

/**
 * Notes the server's time that came back with a call which was sent at a local time. The offset that is known stays if
 * it is possible; else it moves to the nearest that is. So a slow reply does not spoil what a fast one has shown.
 */
export function noteServerTime(store: SessionStore, time: number | undefined, sent: number): void {
  if (time === undefined) {
    return;
  }
  const [least, most] = [time - Date.now(), time + 1 - sent];
  const known = offsets.get(originalStore(store)) ?? 0;
  offsets.set(originalStore(store), Math.max(Math.min(known, most), Math.min(least, most)));
}
