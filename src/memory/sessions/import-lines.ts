import * as z from "zod/mini";
import { ConfigurationError, type MemoryError } from "../../base/errors.js";
import { lazy, listener, parseOptions, positiveInteger } from "../../base/options.js";
import { importSessions } from "./import-sessions.js";
import type { SessionStore } from "../../store/contract/session-store.js";

/** A session of an export that could not be imported. */
export interface SessionImportProblem {
  /** Number of the line at which the problem was found, from 1. */
  readonly line: number;
  /** `""` for an invalid line before any session. */
  readonly sessionId: string;
  /** The reason. */
  readonly error: MemoryError;
}

/** Progress of an import; at its end, the result. */
export interface SessionImportSummary {
  /** Imported sessions. */
  readonly sessions: number;
  /** Imported LangGraph threads. */
  readonly threads: number;
  /** Imported items of long-term memory. */
  readonly items: number;
  /** Messages of the imported sessions. */
  readonly messages: number;
  /** Sessions, threads and items that existed with equal content. */
  readonly unchanged: number;
  /** Skipped sessions, threads and items whose expiry has passed. */
  readonly expired: number;
  /** Sessions, threads and items passed to `onProblem`. */
  readonly failed: number;
}

/**
 * Options of `memory.sessions.import`.
 * @example
 * import { createReadStream } from "node:fs";
 * import { createInterface } from "node:readline";
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const lines = createInterface({ input: createReadStream("sessions.jsonl") }); // what an export wrote
 * const { sessions, failed } = await memory.sessions.import(lines, {
 *   onProblem: ({ line, sessionId, error }) => console.error(`Line ${line}, session ${sessionId}: ${error.message}`),
 * });
 * console.log(`${sessions} sessions imported, ${failed} not`);
 */
export interface SessionImportOptions {
  /** Time to live of the sessions in seconds, instead of the exported expiries. @default as exported */
  readonly sessionTTL?: number;
  /** Receives each session that cannot be imported; the others are imported. @default the import throws */
  readonly onProblem?: (problem: SessionImportProblem) => void;
  /** Called after each session. */
  readonly onProgress?: (progress: SessionImportSummary) => void;
}

const schema = lazy(() =>
  z.strictObject({
    sessionTTL: z.optional(positiveInteger()),
    onProblem: z.optional(listener<SessionImportProblem>()),
    onProgress: z.optional(listener<SessionImportSummary>()),
  }),
);

/** Imports the sessions of an export; see `memory.sessions.import`. */
export async function importLines(
  store: SessionStore,
  lines: AsyncIterable<string> | Iterable<string>,
  options: SessionImportOptions,
): Promise<SessionImportSummary> {
  const { sessionTTL, onProblem, onProgress } = parseOptions("sessions.import", schema(), options);
  if (typeof lines !== "object" || lines === null || !(Symbol.asyncIterator in lines || Symbol.iterator in lines)) {
    throw new ConfigurationError(
      "lines",
      "sessions.import: the lines must be an array or another iterable of strings.",
    );
  }
  const done = { sessions: 0, threads: 0, items: 0, messages: 0, unchanged: 0, expired: 0, failed: 0 };
  const imports = importSessions(store, lines, sessionTTL === undefined ? undefined : sessionTTL * 1_000);
  for await (const { outcome, kind, messages, sessionId, line, error } of imports) {
    if (error !== undefined && onProblem === undefined) {
      throw error;
    }
    const imported = kind === undefined ? "sessions" : (`${kind}s` as const);
    done[outcome === "imported" ? imported : outcome] += 1;
    done.messages += outcome === "imported" ? messages : 0;
    if (error !== undefined) {
      onProblem?.({ line, sessionId, error });
    }
    onProgress?.({ ...done });
  }
  return done;
}
