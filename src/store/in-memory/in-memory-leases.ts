import { randomToken } from "../random-token.js";
import type { LeaseOptions } from "../leases.js";

/** The leases of sessions; times in milliseconds since 1970. */
export class InMemoryLeases {
  readonly #leases = new Map<string, { readonly token: string; readonly expiresAt: number }>();

  /** Takes or extends a session's lease and returns its token; undefined while another one holds it. */
  acquire(sessionId: string, { now, ttlMs, purpose, held }: LeaseRequest): string | undefined {
    const key = leaseKey(sessionId, purpose);
    const lease = this.#leases.get(key);
    const holder = lease !== undefined && lease.expiresAt >= now ? lease.token : undefined;
    if (holder !== held) {
      return undefined;
    }
    const token = held ?? randomToken();
    this.#leases.set(key, { token, expiresAt: now + ttlMs });
    return token;
  }

  /** Gives the lease back if the token still holds it. */
  release(sessionId: string, token: string, { purpose }: Pick<LeaseOptions, "purpose">): void {
    const key = leaseKey(sessionId, purpose);
    if (this.#leases.get(key)?.token === token) {
      this.#leases.delete(key);
    }
  }

  /** Removes the leases that ended before this time; by default all. */
  clear(now = Infinity): void {
    this.#leases.forEach(({ expiresAt }, key) => expiresAt < now && this.#leases.delete(key));
  }
}

interface LeaseRequest extends LeaseOptions {
  readonly now: number;
  readonly ttlMs: number;
}

function leaseKey(sessionId: string, purpose: LeaseOptions["purpose"] = "reduction"): string {
  return `${purpose}:${sessionId}`;
}
