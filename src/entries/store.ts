export type { SessionStore, SessionStoreCore, SessionStoreGroups } from "../store/session-store.js";
export type { SessionBeside } from "../store/beside.js";
export type { SessionCopies } from "../store/copies.js";
export type { SessionEdits } from "../store/edits.js";
export type { SessionLabel, SessionLists, ModelUsage } from "../store/lists.js";
export { InMemorySessionStore } from "../model/in-memory-session-store.js";

export type { SessionHold, SessionRef } from "../store/session-ref.js";
export type { StoredKey, WriterKeys } from "../store/writer-keys.js";
export type { LogPage, ReadLogOptions, ReadState, ReadViewOptions, SessionView } from "../store/session-reads.js";
export type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  NewRecord,
  RecordIdentity,
  ViewLimit,
} from "../store/session-writes.js";
export type { StoredTurn, TurnClaim, TurnMark } from "../store/turns.js";
