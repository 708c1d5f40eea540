/** Options of `acquireLease` and `releaseLease`. */
export interface LeaseOptions {
  /** Leases for different purposes do not exclude each other. @default "reduction" */
  readonly purpose?: "reduction" | "turn";
  /** The token of a lease to extend; if it no longer holds the lease, none is taken. */
  readonly held?: string;
}
