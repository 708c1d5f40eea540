import type { SessionAccess } from "./lists.js";

/**
 * Lets a session that expires live so much longer from now; its place in lists follows. Nothing changes, and the result
 * is false, for a session that does not expire or does not exist, and for the guard of an erased one.
 * @example
 * import { InMemorySessionStore } from "langchain-redis-memory/store";
 *
 * const store = new InMemorySessionStore();
 * console.log(await store.extendExpiry("unknown", { ttlMs: 60_000 })); // false
 */
export interface ExpiryExtension extends SessionAccess {
  /** All keys of the session expire this many milliseconds from now. */
  readonly ttlMs: number;
}
