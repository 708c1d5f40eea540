/**
 * How often something is done again where others are in its way, at most. What was tried in vain is refused as `stale`,
 * and its caller decides.
 */
export const maxTries = {
  /** Compare-and-set of one who edits a session: rewinds, replacements, forks, reductions, heads that are mended. */
  edit: 3,
  /** Appends, labels, rebuilds and passes of re-encryption: many writers of one session are usual there. */
  write: 5,
  /** Source numbers, which several instances of one session reserve at the same time. */
  numbers: 16,
  /** Entries of owners' lists, and the last rounds of an owner's erasure. */
  lists: 3,
} as const;
