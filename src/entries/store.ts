export type { SessionStore, SessionStoreCore, SessionStoreGroups } from "../store/contract/session-store.js";
export type { SessionData } from "../store/contract/session-data.js";
export type { SessionCopies } from "../store/contract/copies.js";
export type { SessionEdits } from "../store/contract/edits.js";
export type { SessionLabel, SessionLists, ModelUsage } from "../store/contract/lists.js";
export { InMemorySessionStore } from "../store/in-memory/in-memory-session-store.js";

export type { SessionHold, SessionRef } from "../store/contract/session-ref.js";
export type { StoredKey, WriterKeys } from "../store/contract/writer-keys.js";
export type {
  LogPage,
  ReadLogOptions,
  ReadState,
  ReadViewOptions,
  SessionView,
} from "../store/contract/session-reads.js";
export type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  NewRecord,
  RecordIdentity,
} from "../store/contract/session-writes.js";
export type { ViewLimit } from "../conversation/reducers/view-limit.js";
export type { StoredTurn, TurnClaim, TurnMark } from "../store/contract/turns.js";
