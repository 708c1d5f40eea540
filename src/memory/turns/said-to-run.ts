import type { BaseMessage } from "@langchain/core/messages";

/** Messages for one run, which were said while it is under way. */
export interface SaidToRun {
  /** Messages that were said since the last call. */
  take(): Promise<BaseMessage[]>;
  /** The same; where that is nothing, the run takes no more. */
  takeOrClose(): Promise<BaseMessage[]>;
}

/** The runs of an application, which `redisRuns` makes. */
export interface SteeredRuns {
  /** Messages for the run of a session that this process produces; undefined where it produces none. */
  saidTo(sessionId: string, turnId?: string): SaidToRun | undefined;
}
