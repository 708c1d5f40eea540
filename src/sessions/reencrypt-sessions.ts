import { identifyRecord } from "../codec/message-ids.js";
import { ConfigurationError } from "../base/errors.js";
import { reencryptSession } from "../sealed/reencrypt-session.js";
import { sealedParts } from "../sealed/sealed-session-store.js";
import type { SessionStore } from "../store/session-store.js";
import { concernsOneSession, leaveOut, type ProblemListeners } from "./session-problems.js";

/** How far a re-encryption has come. */
export interface ReencryptProgress {
  /** Sessions that were looked at. */
  readonly sessions: number;
  /** Records, heads and side fields that were sealed with the current key. */
  readonly sealed: number;
  /** Sessions that still need another key, because writers with it kept writing: call it again when they are gone. */
  readonly incomplete: number;
  /** Sessions that were left out, because a key of theirs is missing or a part of them. */
  readonly failed: number;
}

/** Which sessions to encrypt anew. */
export interface ReencryptRequest extends ProblemListeners {
  readonly sessionIds: AsyncIterable<string> | Iterable<string>;
  /** Called after each session. */
  readonly onProgress?: ((progress: ReencryptProgress) => void) | undefined;
}

/**
 * Seals what is stored of sessions with the current key, beside writers: what other keys sealed, and what is plain.
 * Safe to repeat after a failure. A session that cannot be opened is named and left as it is, and the others follow.
 *
 * @throws ConfigurationError without the option `encryption`; what may pass by itself, such as a StoreError.
 */
export async function reencryptSessions(
  store: SessionStore,
  { sessionIds, onProgress, ...listeners }: ReencryptRequest,
): Promise<ReencryptProgress> {
  const parts = sealedParts(store);
  if (parts === undefined) {
    throw new ConfigurationError("encryption", 'reencrypt() needs the option "encryption".');
  }
  const progress = { sessions: 0, sealed: 0, incomplete: 0, failed: 0 };
  for await (const sessionId of sessionIds) {
    progress.sessions += 1;
    try {
      const done = await reencryptSession({
        ...parts,
        session: { id: sessionId },
        identify: (record) => identifyRecord(record),
      });
      progress.sealed += done?.sealed ?? 0;
      progress.incomplete += done?.complete === false ? 1 : 0;
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
