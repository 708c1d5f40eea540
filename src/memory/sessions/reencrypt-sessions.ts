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
  /** Skipped ones: a key, or a part of the session, is missing. */
  readonly failed: number;
}

/** Scope of a re-encryption, and its listeners. */
export interface ReencryptRequest extends ProblemListeners {
  readonly sessionIds: AsyncIterable<string> | Iterable<string>;
  /** True to give each session another data key; without a current key, none. @default false */
  readonly dataKeys?: boolean | undefined;
  /** Called after each session, thread, run and store of items. */
  readonly onProgress?: ((progress: ReencryptProgress) => void) | undefined;
  /** Called with each that still needs another key. */
  readonly onIncomplete?: ((piece: FoundPiece) => void) | undefined;
  readonly signal?: AbortSignal;
}

/**
 * Wraps the data keys of sessions, and of all threads and items in the same Redis, with the current key, and encrypts
 * plain text, while others may write. Runs are counted. Idempotent and resumable. Sessions and threads
 * that cannot be decrypted are reported and skipped.
 *
 * @throws ConfigurationError without the option `encryption`, or a current key; errors that concern everything, such as
 *   a StoreError.
 */
export async function reencryptAll(store: SessionStore, request: ReencryptRequest): Promise<ReencryptProgress> {
  const parts = sealedParts(store);
  const { onProgress, onIncomplete, signal, dataKeys = false, ...listeners } = request;
  const master = await parts?.keys.ring.current("");
  if (parts === undefined || (master === undefined && !dataKeys)) {
    throw new ConfigurationError("encryption", 'reencrypt() needs a current key in the option "encryption".');
  }
  const none = { sessions: 0, threads: 0, items: 0, runs: 0 };
  const progress = { ...none, keys: 0, sealed: 0, incomplete: 0, failed: 0 };
  for await (const { kind, id, ...done } of reencrypted(parts, request)) {
    if (signal?.aborted === true && kind !== "session") {
      break;
    }
    const isLeft = !("error" in done) && done.isLeft;
    progress.sessions += kind === "session" ? 1 : 0;
    if ("error" in done) {
      failed(listeners, { kind, id, error: done.error });
      progress.failed += 1;
    } else {
      progress.threads += kind === "thread" ? done.count : 0;
      progress.items += kind === "item" ? done.count : 0;
      progress.keys += done.rewrapped ? 1 : 0;
      progress.sealed += done.sealed;
      progress[kind === "run" ? "runs" : "incomplete"] += isLeft ? 1 : 0;
    }
    (isLeft ? onIncomplete : undefined)?.({ kind, id });
    onProgress?.({ ...progress });
  }
  return progress;
}

async function* reencrypted(
  parts: SealedParts,
  { sessionIds, dataKeys = false }: ReencryptRequest,
): AsyncGenerator<FoundPiece & (Reencrypted | { readonly error: unknown })> {
  for await (const id of sessionIds) {
    const work = reencryptSession({ ...parts, session: { id }, dataKeys });
    yield { kind: "session", id, ...(await work.catch((error: unknown) => ({ error }))) };
  }
  const wire = wireOf(parts.store);
  yield* wire === undefined ? [] : reencryptOthers(wire, parts.keys.ring);
}

function failed(listeners: ProblemListeners, { kind, id, error }: FoundPiece & { readonly error: unknown }): void {
  if (!concernsOneSession(error)) {
    throw error;
  }
  const piece = kind === "session" ? { sessionId: id } : { sessionId: kind === "item" ? "" : id, kind };
  leaveOut(listeners, { operation: "reencrypt", ...piece, error });
}
