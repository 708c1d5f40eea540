import type { ListsProgress } from "../../store/contract/session-ref.js";
import type { ReencryptProgress } from "./reencrypt-sessions.js";
import type { SessionProblem, ListedSession } from "./stored-sessions.js";

/** Options of `memory.sessions.list`. */
export interface SessionListOptions {
  /** Owner of the sessions. */
  readonly owner: string;
  /** Page size, 1 to 1,000. @default 30 */
  readonly limit?: number;
  /** Cursor: the `next` of the previous page; null returns an empty page. @default the first page */
  readonly cursor?: string | null | undefined;
}

/** A page of an owner's sessions. */
export interface SessionList {
  /** The sessions of the page, by last write, newest first. */
  readonly sessions: readonly ListedSession[];
  /** Cursor of the next page; null on the last. */
  readonly next: string | null;
}

/** Result of `memory.sessions.deleteOwner`. */
export interface OwnerErasure {
  /** Ids of sessions, and of threads and runs without one. */
  readonly sessions: number;
  /** Items of long-term memory; `not asked` without the memory's option `ownerNamespaces`. */
  readonly items: number | "not asked";
}

/** Options of `memory.sessions.deleteOwner`. */
export interface SessionErasureOptions {
  /** Milliseconds for which guards refuse late writers. @default 600,000 */
  readonly guardMs?: number;
  /**
   * True to erase also what names the owners and is in no list: threads and runs without a session, incomplete copies,
   * and sessions that a list lost by a failover. It reads every key of Redis, once for all owners. @default false
   */
  readonly unlisted?: boolean;
  /** Called after each step with the number of erased sessions. */
  readonly onProgress?: (progress: ListsProgress) => void;
}

/**
 * Options of `memory.sessions.reindex`.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * await memory.sessions.reindex({ onProgress: ({ sessions }) => console.log(`${sessions} sessions so far`) });
 */
export interface ReindexOptions {
  /** Called after each step with the number of visited sessions. */
  readonly onProgress?: (progress: ListsProgress) => void;
  /** Receives each session that cannot be read; the others are listed. @default an event `session_skipped` only */
  readonly onProblem?: (problem: SessionProblem) => void;
}

/** Options of `memory.sessions.reencrypt`. */
export interface ReencryptOptions {
  /**
   * True to give each session another data key: its log and texts are encrypted with that, and take their place. With
   * `current: null`, sessions become plain text. For data keys that may be known to somebody. @default false
   */
  readonly dataKeys?: boolean;
  /** Called after each session and thread with the progress. */
  readonly onProgress?: (progress: ReencryptProgress) => void;
  /** Receives each session and thread that cannot be decrypted; the others are. @default counted in `failed` */
  readonly onProblem?: (problem: SessionProblem) => void;
}

/**
 * Options of `memory.sessions.exportOwner`.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import type { SessionProblem } from "langchain-redis-memory/sessions";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const missing: SessionProblem[] = [];
 * for await (const line of memory.sessions.exportOwner("user-1", { onProblem: (problem) => missing.push(problem) })) {
 *   console.log(line);
 * }
 * missing.forEach(({ sessionId, error }) => console.error(`${sessionId} is not in it: ${error.message}`));
 */
export interface OwnerExportOptions {
  /**
   * Receives each session that cannot be read; the others are exported. @default the export throws the first session's
   * error after the others
   */
  readonly onProblem?: (problem: SessionProblem) => void;
}
