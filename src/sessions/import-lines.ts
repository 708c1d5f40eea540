import * as z from "zod/mini";
import type { MemoryError } from "../base/errors.js";
import { ConfigurationError } from "../base/errors.js";
import { anyFunction, lazy, parseOptions, positiveInteger } from "../base/options.js";
import type { StoreWith } from "../store/capabilities.js";
import { importSessions } from "./import-sessions.js";

/** A session of an export that was not imported. */
export interface SessionImportProblem {
  /** The line that is wrong, or at which it showed; counted from 1. */
  readonly line: number;
  /** `""` where a line is wrong before it names a session. */
  readonly sessionId: string;
  /** Why it was not imported. */
  readonly error: MemoryError;
}

/** How far an import has come; at its end, what it did. */
export interface SessionImportSummary {
  /** Sessions that were imported, and their messages. */
  readonly sessions: number;
  /** Messages of the sessions that were imported. */
  readonly messages: number;
  /** Sessions that were there already. */
  readonly unchanged: number;
  /** Sessions that were left out, because the time at which they expire has passed. */
  readonly expired: number;
  /** Sessions that were passed to `onProblem`. */
  readonly failed: number;
}

/**
 * How to import sessions.
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
  /** Seconds after which the sessions expire, in the place of the times in the export. @default as exported */
  readonly sessionTTL?: number;
  /** Is told of a session that cannot be imported; the others are imported. @default the import throws */
  readonly onProblem?: (problem: SessionImportProblem) => void;
  /** Is told after each session. */
  readonly onProgress?: (progress: SessionImportSummary) => void;
}

const schema = lazy(() =>
  z.strictObject({
    sessionTTL: z.optional(positiveInteger()),
    onProblem: z.optional(anyFunction<(problem: SessionImportProblem) => void>()),
    onProgress: z.optional(anyFunction<(progress: SessionImportSummary) => void>()),
  }),
);

/** Imports the sessions of an export; see `memory.sessions.import`. */
export async function importLines(
  store: StoreWith<"transfers">,
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
  const done = { sessions: 0, messages: 0, unchanged: 0, expired: 0, failed: 0 };
  const setting = { ttlMs: sessionTTL === undefined ? undefined : sessionTTL * 1_000 };
  for await (const { outcome, messages, sessionId, line, error } of importSessions(store, lines, setting)) {
    if (error !== undefined && onProblem === undefined) {
      throw error;
    }
    done[outcome === "imported" ? "sessions" : outcome] += 1;
    done.messages += outcome === "imported" ? messages : 0;
    if (error !== undefined) {
      onProblem?.({ line, sessionId, error });
    }
    onProgress?.({ ...done });
  }
  return done;
}
