/** Limits of retries under contention. After the last try a call is refused as `stale`. */
export const maxTries = {
  /** Compare-and-set edits of one session: rewinds, replacements, forks, reductions, repairs of the head. */
  edit: 3,
  /** Appends, labels, rebuilds, re-encryption passes and calls on threads, where contention is usual. */
  write: 5,
  /** Reservations of source numbers, which several instances make concurrently. */
  numbers: 16,
  /** Entries of owners' lists, and the last rounds of an owner's erasure. */
  lists: 3,
} as const;
