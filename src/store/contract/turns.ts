/**
 * The turn of an append, and the state in which the caller expects its mark: an append whose claim does not fit it
 * writes nothing, so a turn is stored once, even if a retry has other ids and texts.
 */
export interface TurnClaim {
  /** A hash of the turn's id: 14 characters of base64url. */
  readonly name: string;
  /** Records of the turn that the caller knows to be stored; 0 at the turn's first append. */
  readonly stored: number;
  /** True to end the turn: every later append to it is a repetition. False to leave it open for more. */
  readonly done: boolean;
}

/** Mark of a turn in a store. */
export interface TurnMark {
  /** True if the turn has ended: every later append to it is a repetition. */
  readonly done: boolean;
  /** Records that were stored for the turn; messages that were stored before under their own ids are not among them. */
  readonly count: number;
  readonly first: number;
}

/** A turn whose claim did not fit its mark. */
export interface StoredTurn extends TurnMark {
  /**
   * The `count` records from `first` on that are still in the log. If the turn was written in several steps, records of
   * other turns may be among them.
   */
  readonly records: readonly string[];
  /**
   * True where the turn is open, has as many records as this append would leave, and all of its ids are stored or
   * discarded: the append was made before, and its reply was lost.
   */
  readonly same?: true;
}

/** A turn that loses records by a rewind. A turn without records is forgotten, any other is open again. */
export interface LessenedTurn {
  readonly name: string;
  readonly removed: number;
}

/** Turn of a record, for `rebuild`. */
export interface TurnOfRecord {
  readonly name: string;
  /** True for a record with which a turn can end. */
  readonly ends: boolean;
}

/** The marks of the turns that records belong to, in order of their first record; `first` is an index. */
export function marksIn(records: Iterable<{ readonly turn?: TurnOfRecord } | undefined>): Map<string, TurnMark> {
  const marks = new Map<string, TurnMark>();
  let index = 0;
  for (const record of records) {
    if (record?.turn !== undefined) {
      const { name, ends } = record.turn;
      const { count = 0, first = index } = marks.get(name) ?? {};
      marks.set(name, { done: ends, count: count + 1, first });
    }
    index += 1;
  }
  return marks;
}
