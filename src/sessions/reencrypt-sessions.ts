import { identifyRecord } from "../codec/message-ids.js";
import { ConfigurationError } from "../base/errors.js";
import { reencryptSession } from "../sealed/reencrypt-session.js";
import { sealedParts } from "../sealed/sealed-session-store.js";
import type { SessionStore } from "../store/session-store.js";

/** How far a re-encryption has come. */
export interface ReencryptProgress {
  /** Sessions that were looked at. */
  readonly sessions: number;
  /** Records, heads and side fields that were sealed with the current key. */
  readonly sealed: number;
  /** Sessions that still need another key, because writers with it kept writing: call it again when they are gone. */
  readonly incomplete: number;
}

/** Which sessions to encrypt anew. */
export interface ReencryptRequest {
  readonly sessionIds: AsyncIterable<string> | Iterable<string>;
  /** Called after each session. */
  readonly onProgress?: ((progress: ReencryptProgress) => void) | undefined;
}

/**
 * Seals what is stored of sessions with the current key, beside writers: what other keys sealed, and what is plain.
 * Safe to repeat after a failure.
 *
 * @throws ConfigurationError without the option `encryption`; EncryptionError if a key is missing; StoreError.
 */
export async function reencryptSessions(
  store: SessionStore,
  { sessionIds, onProgress }: ReencryptRequest,
): Promise<ReencryptProgress> {
  const parts = sealedParts(store);
  if (parts === undefined) {
    throw new ConfigurationError("encryption", 'reencrypt() needs the option "encryption".');
  }
  let progress: ReencryptProgress = { sessions: 0, sealed: 0, incomplete: 0 };
  for await (const sessionId of sessionIds) {
    const done = await reencryptSession({ ...parts, sessionId, identify: (record) => identifyRecord(record) });
    progress = {
      sessions: progress.sessions + 1,
      sealed: progress.sealed + (done?.sealed ?? 0),
      incomplete: progress.incomplete + (done?.complete === false ? 1 : 0),
    };
    onProgress?.(progress);
  }
  return progress;
}
