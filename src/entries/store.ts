export type { SessionBeside } from "../store/beside.js";
export type { SessionCopies } from "../store/copies.js";
export { checkSessionStore, type StoreGroup } from "../store/groups.js";
export { decideAppend, type AppendDecision, type AppendTarget, type PlannedAppend } from "../store/append-decision.js";
export { anyDigest, type Discard, type DiscardedIds } from "../store/session-writes.js";
export { emptyPage, emptyRounds, emptyView } from "../store/session-reads.js";
export { InMemorySessionStore } from "../model/in-memory-session-store.js";
export type { InMemorySessionStoreOptions } from "../model/in-memory-store-options.js";
export { randomToken } from "../base/ids.js";
export { closed, damaged, outOfRange, refuseUnlessKnown } from "../store/refusals.js";
export { planAppend, planReplaceTail, type AppendPlan } from "../store/append-plan.js";
export { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "../store/request-checks.js";
export { beginsRound, lastRounds } from "../store/record-text.js";
export type {
  ListsProgress,
  ModelUsage,
  SessionAccess,
  SessionDetails,
  SessionLists,
  SessionLabel,
  SessionsPage,
  SessionSummary,
} from "../store/lists.js";
export type { SessionHold, SessionRef } from "../store/session-ref.js";
export { checkSessionId } from "../store/session-ref.js";
export {
  checkPageRequest,
  maxReductions,
  pageBounds,
  type ReductionSize,
  type StoredPage,
  type StoredPageRequest,
  type StoredReduction,
  type StoredStats,
} from "../store/session-pages.js";
export {
  checkFork,
  type CopiedRecord,
  type ForkedSession,
  type ForkRequest,
  type SessionForks,
} from "../store/session-forks.js";
export {
  checkCreate,
  checkCreated,
  type CreatedSession,
  type CreateRequest,
  type KeptState,
  type NamedMark,
  type SessionTransfers,
  type TransferPage,
  type WholeState,
} from "../store/session-transfers.js";
export type {
  LogPage,
  ReadLogOptions,
  ReadState,
  ReadViewOptions,
  SessionView,
  StoredRounds,
} from "../store/session-reads.js";
export type {
  CompleteSessionStore,
  SessionStore,
  SessionStoreCore,
  SessionStoreGroups,
} from "../store/session-store.js";
export type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifiedRecord,
  IdentifyRecord,
  NewRecord,
  RecordIdentity,
  ReplaceTailRequest,
  RewindRequest,
  ViewLimit,
} from "../store/session-writes.js";
export type { RebuildOptions, RecordSwap, SessionEdits, SwapPass, SwapRequest } from "../store/edits.js";
export { applySide, sideWithPrefix, type SideChanges, type SideWrite } from "../store/side-fields.js";
export type { SizeLimits } from "../store/request-checks.js";
export {
  withKey,
  type ComparedResult,
  type DifferingRecord,
  type KeyedRecord,
  type WriterKeys,
} from "../store/writer-keys.js";
export {
  marksIn,
  type StoredTurn,
  type TurnClaim,
  type TurnMark,
  type TurnOfRecord,
  type TurnRemainder,
} from "../store/turns.js";
export { exceedsLimit, totalAfterAppend, totalAfterCommit, type TokenTotal } from "../store/token-total.js";
export type { HeldTicket, HoldPlace, HoldRequest } from "../store/holds.js";
