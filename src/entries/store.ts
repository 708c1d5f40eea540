export type {
  CompleteSessionStore,
  SessionStore,
  SessionStoreCore,
  SessionStoreGroups,
} from "../store/session-store.js";
export type { StoreGroup } from "../store/groups.js";
export type { SessionBeside } from "../store/beside.js";
export type { SessionCopies } from "../store/copies.js";
export type { SessionEdits } from "../store/edits.js";
export type { SessionLabel, SessionLists, ModelUsage } from "../store/lists.js";
export { InMemorySessionStore } from "../model/in-memory-session-store.js";

export { checkSessionId, type SessionHold, type SessionRef } from "../store/session-ref.js";
export type { WriterKeys } from "../store/writer-keys.js";
export {
  emptyView,
  type LogPage,
  type ReadLogOptions,
  type ReadState,
  type ReadViewOptions,
  type SessionView,
} from "../store/session-reads.js";
export type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  Discard,
  DiscardedIds,
  NewRecord,
  RecordIdentity,
  ViewLimit,
} from "../store/session-writes.js";
export type { StoredTurn, TurnClaim, TurnMark } from "../store/turns.js";

export { closed, damaged } from "../store/refusals.js";
export { planRead, type SizeLimits } from "../store/request-checks.js";
export {
  decideAppend,
  planAppend,
  type AppendDecision,
  type AppendPlan,
  type AppendTarget,
  type PlannedAppend,
} from "../store/append-decision.js";
export { exceedsLimit, totalAfterAppend } from "../store/token-total.js";
export { decideCommit, type CommitDecision, type CommitTarget } from "../store/commit-decision.js";
