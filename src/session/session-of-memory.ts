import type { SessionRef } from "../store/session-ref.js";
import type { MemoryContext } from "./memory-context.js";

/** A session of a memory, as everything that works on one session is given it. */
export interface SessionOfMemory {
  readonly sessionId: string;
  /** The session as its history may touch it. Asked for at each call: the hold in it changes with a clear. */
  readonly ref: SessionRef;
  /** The same for the commit of a reduction, which may go on behind a hold. */
  readonly reductionRef: SessionRef;
  readonly context: MemoryContext;
}
