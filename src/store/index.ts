export {
  capabilitiesOf,
  checkSessionStore,
  hasCapability,
  type CapabilityMethods,
  type StoreCapability,
  type StoreWith,
} from "./capabilities.js";
export { decideAppend, type AppendDecision, type AppendTarget, type PlannedAppend } from "./append-decision.js";
export { anyDigest, type Discard, type DiscardedIds } from "./discarded-ids.js";
export { emptyPage, emptyRounds, emptyView } from "./empty-results.js";
export { InMemorySessionStore } from "./in-memory/in-memory-session-store.js";
export type { InMemorySessionStoreOptions } from "./in-memory/in-memory-store-options.js";
export { randomToken } from "./random-token.js";
export { closed, damaged, outOfRange, refuseUnlessKnown } from "./refusals.js";
export { planAppend, planReplaceTail, type AppendPlan } from "./append-plan.js";
export { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "./request-checks.js";
export { beginsRound, lastRounds } from "./round-starts.js";
export type {
  IndexProgress,
  ModelUsage,
  SessionAccess,
  SessionClaim,
  SessionDetails,
  SessionIndex,
  SessionLabel,
  SessionsPage,
  SessionSummary,
} from "./session-index.js";
export type { ExpiryExtension } from "./session-expiry.js";
export { checkSessionId } from "./session-id-rules.js";
export {
  checkPageRequest,
  maxReductions,
  pageBounds,
  type ReductionSize,
  type SessionPages,
  type StoredPage,
  type StoredPageRequest,
  type StoredReduction,
  type StoredStats,
} from "./session-pages.js";
export {
  checkFork,
  namesAnew,
  type CopiedRecord,
  type ForkedSession,
  type ForkRequest,
  type SessionForks,
} from "./session-forks.js";
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
} from "./session-transfers.js";
export type {
  LogPage,
  ReadLogOptions,
  ReadState,
  ReadViewOptions,
  SessionView,
  StoredRounds,
} from "./session-reads.js";
export type { CompleteSessionStore, SessionStore, SessionStoreCore } from "./session-store.js";
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
} from "./session-writes.js";
export type { RecordSwap, RecordSwaps, SwapPass, SwapRequest } from "./record-swaps.js";
export { applySide, sideWithPrefix, type SideChanges, type SideWrite } from "./side-fields.js";
export type { SizeLimits } from "./size-limits.js";
export {
  withKey,
  type ComparedResult,
  type DifferingRecord,
  type KeyedRecord,
  type KeyedWrite,
  type WriterKeys,
} from "./writer-keys.js";
export {
  marksIn,
  type StoredTurn,
  type TurnClaim,
  type TurnMark,
  type TurnOfRecord,
  type TurnRemainder,
} from "./turns.js";
export { exceedsLimit, totalAfterAppend, totalAfterCommit, type TokenTotal } from "./token-total.js";
export type { Fenced, HeldTicket, TurnEntry, TurnFence, TurnPlace, TurnQueue } from "./turn-queue.js";
