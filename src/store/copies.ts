import type { SessionForks } from "./session-forks.js";
import type { SessionTransfers } from "./session-transfers.js";

/** Whole sessions out of a store and into one. */
export interface SessionCopies extends SessionForks, SessionTransfers {}
