import { randomToken } from "../store/random-token.js";

/** The leases of sessions; times in milliseconds since 1970. */
export class InMemoryLeases {
  readonly #leases = new Map<string, { readonly token: string; readonly expiresAt: number }>();

  /** Takes a session's lease and returns its token; undefined while another holds it. */
  acquire(sessionId: string, { now, ttlMs }: { readonly now: number; readonly ttlMs: number }): string | undefined {
    const lease = this.#leases.get(sessionId);
    if (lease !== undefined && lease.expiresAt >= now) {
      return undefined;
    }
    const token = randomToken();
    this.#leases.set(sessionId, { token, expiresAt: now + ttlMs });
    return token;
  }

  /** Gives the lease back if the token still holds it. */
  release(sessionId: string, token: string): void {
    if (this.#leases.get(sessionId)?.token === token) {
      this.#leases.delete(sessionId);
    }
  }

  /** Removes the leases that ended before this time; by default all. */
  clear(now = Infinity): void {
    this.#leases.forEach(({ expiresAt }, sessionId) => expiresAt < now && this.#leases.delete(sessionId));
  }
}
