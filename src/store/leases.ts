/** Which lease of a session is meant. */
export interface LeaseOptions {
  /** Leases for different purposes do not exclude each other. @default "reduction" */
  readonly purpose?: "reduction" | "turn";
  /** The token of a lease to extend; where it holds the lease no more, none is taken. */
  readonly held?: string;
}
