import type { ListsProgress } from "../store/lists.js";
import type { ReencryptProgress } from "./reencrypt-sessions.js";
import type { SessionProblem } from "./session-problems.js";
import type { ListedSession } from "./stored-sessions.js";

/** Which sessions to list. */
export interface SessionListOptions {
  /** Whose sessions. */
  readonly owner: string;
  /** Sessions of one page, 1 to 1,000. @default 30 */
  readonly limit?: number;
  /** The `next` of the page before: an empty page for null. @default the first page */
  readonly cursor?: string | null | undefined;
  /** True to look at each session of the page and to repair what disagrees; costs one more wait. @default false */
  readonly verify?: boolean;
}

/** A page of an owner's sessions. */
export interface SessionList {
  /** The sessions of the page, those written last first. */
  readonly sessions: readonly ListedSession[];
  /** Pass it as `cursor` for the next page; null on the last one. */
  readonly next: string | null;
}

/** How to erase an owner's sessions. */
export interface SessionErasureOptions {
  /** Milliseconds for which late writers are refused, so that none of them brings a session back. @default 600,000 */
  readonly guardMs?: number;
  /** Is told after each step how many sessions were erased. */
  readonly onProgress?: (progress: ListsProgress) => void;
}

/**
 * How to make the lists anew.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * await memory.sessions.reindex({ onProgress: ({ sessions }) => console.log(`${sessions} sessions so far`) });
 */
export interface ReindexOptions {
  /** Is told after each step how many sessions were looked at. */
  readonly onProgress?: (progress: ListsProgress) => void;
}

/** How to encrypt sessions anew. */
export interface ReencryptOptions {
  /** Is told after each session how far the work has come. */
  readonly onProgress?: (progress: ReencryptProgress) => void;
  /** Is told of a session that cannot be opened; the others are encrypted. @default counted in `failed` */
  readonly onProblem?: (problem: SessionProblem) => void;
}

/**
 * How to export an owner's sessions.
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
   * Is told of a session that cannot be read; the others are exported. @default the export throws the first one's error
   * when all others are written
   */
  readonly onProblem?: (problem: SessionProblem) => void;
}
