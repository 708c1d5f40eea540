import { identifyRecord } from "../codec/message-ids.js";
import { ConfigurationError } from "../base/errors.js";
import { reencryptSession } from "../sealed/reencrypt-session.js";
import { sealedParts } from "../sealed/loaded-store.js";
import type { SessionStore } from "../store/session-store.js";
import { concernsOneSession, leaveOut, type ProblemListeners } from "./problems.js";

/** Progress of a re-encryption. */
export interface ReencryptProgress {
  /** Sessions visited. */
  readonly sessions: number;
  /** Records, heads and side fields re-encrypted with the current key. */
  readonly sealed: number;
  /**
   * Sessions that still need another key, because writers with it kept writing: repeat the call when these are gone.
   */
  readonly incomplete: number;
  /** Skipped sessions: a key, or a part of the session, is missing, or a record holds bytes that are not UTF-8. */
  readonly failed: number;
}

/** The sessions to re-encrypt. */
export interface ReencryptRequest extends ProblemListeners {
  readonly sessionIds: AsyncIterable<string> | Iterable<string>;
  /** Called after each session. */
  readonly onProgress?: ((progress: ReencryptProgress) => void) | undefined;
}

/**
 * Re-encrypts sessions with the current key (data of other keys and plain text), beside concurrent writers. Idempotent
 * and resumable. A session that cannot be decrypted is reported and skipped.
 *
 * @throws ConfigurationError without the option `encryption`; errors that concern all sessions, such as a StoreError.
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
      if (done?.problem !== undefined) {
        throw done.problem;
      }
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
