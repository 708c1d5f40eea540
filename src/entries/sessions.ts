export { readLegacyMessages, type ListReader, type ReadLegacyOptions } from "../store/codec/read-legacy-messages.js";
export type { ListsProgress, SessionAccess } from "../store/contract/session-ref.js";
export type {
  SessionImportOptions,
  SessionImportProblem,
  SessionImportSummary,
} from "../memory/sessions/import-sessions.js";
export { MemorySessions } from "../memory/sessions/memory-sessions.js";
export type {
  OwnerErasure,
  OwnerExportOptions,
  ReencryptOptions,
  ReindexOptions,
  SessionErasureOptions,
  SessionList,
  SessionListOptions,
} from "../memory/sessions/requests.js";
export type {
  FoundSession,
  SearchedRole,
  SearchMatch,
  SessionSearch,
  SessionSearchOptions,
} from "../memory/sessions/search-requests.js";
export type { SessionProblem, ListedSession, StoredSession } from "../memory/sessions/stored-sessions.js";
export type { ReencryptProgress } from "../memory/sessions/reencrypt-sessions.js";
export type { UsageSum } from "../base/events.js";
