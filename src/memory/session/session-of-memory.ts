import type { SessionRef } from "../../store/contract/session-ref.js";
import type { MemoryContext } from "./memory-context.js";

/** A session of a memory: the context of every operation on one session. */
export interface SessionOfMemory {
  readonly sessionId: string;
  /** The session's reference for its history. Evaluated at each call: `clear` changes the hold in it. */
  readonly ref: SessionRef;
  /** The reference for the commit of a reduction, which may outlive the hold. */
  readonly reductionRef: SessionRef;
  readonly context: MemoryContext;
}
