/** A size of the view. Messages are `headCount` and the records from the start on; tokens count the same. */
export interface ViewLimit {
  /** Messages of the view. */
  readonly messages?: number;
  /** Tokens of the view. */
  readonly tokens?: number;
  /** Records from the start on, without the head: what came since the last reduction, and what that one kept. */
  readonly fromStart?: number;
}
