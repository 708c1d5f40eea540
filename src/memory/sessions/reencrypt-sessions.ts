import { ConfigurationError } from "../../base/errors.js";
import type { FoundPiece } from "../../store/redis-lists/kinds.js";
import { wireOf } from "../../store/redis-store/redis-session-store.js";
import { sealedParts, type SealedParts } from "../../store/sealed/loaded-store.js";
import { reencryptOthers, type Reencrypted } from "../../store/sealed/reencrypt-texts.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { concernsOneSession, leaveOut, type ProblemListeners } from "./problems.js";
import { reencryptSession } from "./reencrypt-session.js";

/** Progress of a re-encryption. */
export interface ReencryptProgress {
  /** Sessions visited. */
  readonly sessions: number;
  /** LangGraph threads visited. */
  readonly threads: number;
  /** Items of long-term memory visited. */
  readonly items: number;
  /**
   * Runs that have no data key, or one that needs another key. They cannot be changed; they expire two minutes after
   * their end, and a day after it where they wait for a human. Repeat the call then.
   */
  readonly runs: number;
  /** Sessions, threads and stores of items whose data keys were wrapped with the current key, or replaced. */
  readonly keys: number;
  /** Plain texts encrypted: records, heads and side fields of sessions, and the texts of threads and items. */
  readonly sealed: number;
  /**
   * Sessions, threads and stores of items that still need another key or hold plain text, because others kept writing:
   * repeat the call when these have the current key.
   */
  readonly incomplete: number;
  /** Skipped ones: a key, or a part of the session, is missing, or a record holds bytes that are not UTF-8. */
  readonly failed: number;
}

type SessionsProgress = Omit<ReencryptProgress, "threads" | "items" | "runs">;

/** The sessions to re-encrypt. */
export interface SessionsRequest extends ProblemListeners {
  readonly sessionIds: AsyncIterable<string> | Iterable<string>;
  /** True to give each session another data key; without a current key, none. @default false */
  readonly dataKeys?: boolean | undefined;
  /** Called after each session. */
  readonly onProgress?: ((progress: SessionsProgress) => void) | undefined;
  /** Called with each that still needs another key. */
  readonly onIncomplete?: ((piece: FoundPiece) => void) | undefined;
}

/** A re-encryption of everything. */
export interface ReencryptRequest extends Omit<SessionsRequest, "onProgress"> {
  /** Called after each session, thread, run and store of items. */
  readonly onProgress?: ((progress: ReencryptProgress) => void) | undefined;
  /** Ends the walk early. */
  readonly signal?: AbortSignal;
}

/**
 * Wraps the data keys of sessions with the current key, and encrypts plain text, while others may write. Idempotent
 * and resumable. A session that cannot be decrypted is reported and skipped.
 *
 * @throws ConfigurationError without the option `encryption`; errors that concern all sessions, such as a StoreError.
 */
export async function reencryptSessions(
  store: SessionStore,
  { sessionIds, onProgress, onIncomplete, dataKeys = false, ...listeners }: SessionsRequest,
): Promise<SessionsProgress> {
  const parts = partsOf(store);
  const progress = { sessions: 0, keys: 0, sealed: 0, incomplete: 0, failed: 0 };
  for await (const sessionId of sessionIds) {
    progress.sessions += 1;
    try {
      const done = await reencryptSession({ ...parts, session: { id: sessionId }, dataKeys });
      progress.sealed += done?.sealed ?? 0;
      progress.keys += done?.rewrapped === true ? 1 : 0;
      if (done?.problem !== undefined) {
        throw done.problem;
      }
      if (done?.complete === false) {
        progress.incomplete += 1;
        onIncomplete?.({ kind: "session", id: sessionId });
      }
    } catch (error) {
      if (!concernsOneSession(error)) {
        throw error;
      }
      progress.failed += 1;
      leaveOut(listeners, { operation: "reencrypt", sessionId, error });
    }
    onProgress?.({ ...progress });
  }
  return progress;
}

/**
 * Re-encrypts sessions, see {@link reencryptSessions}, wraps the data keys of all threads and items in the same Redis,
 * and encrypts their plain text. Runs are counted.
 *
 * @throws ConfigurationError without a current key; errors that concern everything, such as a StoreError.
 */
export async function reencryptAll(store: SessionStore, request: ReencryptRequest): Promise<ReencryptProgress> {
  const { ring, store: inner } = partsOf(store);
  const { sessionIds, onProgress, onIncomplete, signal, dataKeys = false, ...listeners } = request;
  await (dataKeys ? ring.current("") : ring.required(""));
  const none = { threads: 0, items: 0, runs: 0 };
  const sessions = await reencryptSessions(store, {
    ...listeners,
    sessionIds,
    onIncomplete,
    dataKeys,
    onProgress: (progress) => onProgress?.({ ...progress, ...none }),
  });
  const progress = { ...sessions, ...none };
  const wire = wireOf(inner);
  for await (const piece of wire === undefined ? [] : reencryptOthers(wire, ring)) {
    if (signal?.aborted === true) {
      break;
    }
    if ("error" in piece) {
      failed(piece, listeners);
      progress.failed += 1;
    } else {
      count(progress, piece);
      (piece.isLeft ? onIncomplete : undefined)?.(piece);
    }
    onProgress?.({ ...progress });
  }
  return progress;
}

type Counts = { -readonly [Name in keyof ReencryptProgress]: ReencryptProgress[Name] };

function count(progress: Counts, { kind, count, rewrapped, sealed, isLeft }: FoundPiece & Reencrypted): void {
  const isRun = kind === "run";
  progress.runs += isRun && isLeft ? 1 : 0;
  progress.threads += kind === "thread" ? count : 0;
  progress.items += kind === "item" ? count : 0;
  progress.incomplete += !isRun && isLeft ? 1 : 0;
  progress.keys += rewrapped ? 1 : 0;
  progress.sealed += sealed;
}

function failed({ kind, id, error }: FoundPiece & { readonly error: unknown }, listeners: ProblemListeners): void {
  if (!concernsOneSession(error)) {
    throw error;
  }
  leaveOut(listeners, { operation: "reencrypt", sessionId: kind === "item" ? "" : id, kind, error });
}

function partsOf(store: SessionStore): SealedParts {
  const parts = sealedParts(store);
  if (parts === undefined) {
    throw new ConfigurationError("encryption", 'reencrypt() needs the option "encryption".');
  }
  return parts;
}
