export { readLegacyMessages, type ListReader, type ReadLegacyOptions } from "../codec/read-legacy-messages.js";
export type { ListsProgress, SessionAccess } from "../store/lists.js";
export type { SessionImportOptions, SessionImportProblem, SessionImportSummary } from "../sessions/import-lines.js";
export { MemorySessions } from "../sessions/memory-sessions.js";
export type {
  OwnerErasure,
  OwnerExportOptions,
  ReencryptOptions,
  ReindexOptions,
  SessionErasureOptions,
  SessionList,
  SessionListOptions,
} from "../sessions/requests.js";
export type {
  FoundSession,
  SearchedRole,
  SearchMatch,
  SessionSearch,
  SessionSearchOptions,
} from "../sessions/search-requests.js";
export type { SessionProblem } from "../sessions/problems.js";
export type { ReencryptProgress } from "../sessions/reencrypt-sessions.js";
export type { UsageSum } from "../base/events.js";
export type { ListedSession, StoredSession } from "../sessions/stored-sessions.js";
