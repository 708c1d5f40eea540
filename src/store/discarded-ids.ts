/** How many ids of discarded messages a session remembers, and for how many seconds, counted up to a later discard. */
export interface DiscardedIds {
  /** Ids at most; 0 or more. The oldest are forgotten first. */
  readonly count: number;
  /** How long each is remembered, in seconds; 1 or more. */
  readonly seconds: number;
}

/** The digest of a discarded message whose own is not known: of a copy that is sealed with another key. */
export const anyDigest = "--------";

/** What a reduction removes for good. */
export interface Discard {
  /** Ids of the removed records, oldest first: they are forgotten, or, with `remember`, those beyond that bound. */
  readonly forget: readonly string[];
  /** Names of the turns that lose all their records, oldest first; the last thousand are remembered. */
  readonly turns?: readonly string[];
  /** How many ids go on counting as stored. A store that cannot forgets all: a late resend is then added again. */
  readonly remember?: DiscardedIds;
}
