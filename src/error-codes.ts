/**
 * What went wrong between this process and Redis. `erased`: the session was erased a short time ago, and a guard keeps
 * late writers from bringing it back.
 */
export type StoreErrorCode =
  | "unavailable"
  | "timeout"
  | "out_of_memory"
  | "read_only"
  | "wrong_type"
  | "damaged"
  | "too_large"
  | "erased"
  | "closed"
  | "script_failed";
