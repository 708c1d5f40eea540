import { EncryptionError } from "../base/errors.js";
import type { SessionEdits } from "../store/edits.js";
import type { SessionStore } from "../store/session-store.js";
import type { SessionRef } from "../store/session-ref.js";
import type { IdentifyRecord } from "../store/session-writes.js";
import type { SessionOpener } from "./session-opener.js";

const pageLength = 1_000;

/** A rebuild of a session that may be sealed. */
export interface SealedRebuild {
  /** The store underneath. */
  readonly store: Pick<SessionStore, "readLog"> & { readonly edits: Pick<SessionEdits, "rebuild"> };
  readonly opener: SessionOpener;
  readonly session: SessionRef;
  readonly identify: IdentifyRecord;
  readonly options: { readonly assigns?: boolean } | undefined;
}

/**
 * Rebuilds a session from its log. A record that was changed in Redis stays in the log, as one that cannot be read.
 *
 * @throws EncryptionError `unknown_key`; `wrong_key` where a key opens no record, because it is another one: a rebuild
 *   would forget the ids of all messages.
 */
export async function rebuildSealed({ store, opener, session, identify, options }: SealedRebuild): Promise<void> {
  const good = new Set<string>();
  for (;;) {
    let missing: string | undefined;
    const identifySealed: IdentifyRecord = (record, position) => {
      const opened = openedUnlessChanged(opener, record, good);
      if (opened !== undefined && "missing" in opened) {
        missing = opened.missing;
        throw new Error("A key has to be asked for.");
      }
      const identity = opened && identify(opened.plain, position);
      const key = opened?.key;
      return identity && key ? { ...identity, digest: key.digest(identity.digest), key: key.tag } : identity;
    };
    try {
      return await store.edits.rebuild(session, identifySealed, options);
    } catch (error) {
      if (missing !== undefined) {
        await opener.key(missing);
      } else if (isWrongKey(error) && !good.has(error.keyId) && (await opensSome({ store, opener, session }, error))) {
        good.add(error.keyId);
      } else {
        throw error;
      }
    }
  }
}

/** Undefined for a record that was changed: its key decrypts other records of the log, but not this one. */
function openedUnlessChanged(opener: SessionOpener, record: string, good: ReadonlySet<string>) {
  try {
    return opener.recordNow(record);
  } catch (error) {
    if (isWrongKey(error) && good.has(error.keyId)) {
      return undefined;
    }
    throw error;
  }
}

/** True if the key of that name opens a record of the log. */
async function opensSome(
  { store, opener, session }: Pick<SealedRebuild, "store" | "opener" | "session">,
  { keyId }: EncryptionError,
): Promise<boolean> {
  for (let from: number | undefined; ;) {
    const page = await store.readLog(session, { limit: pageLength, ...(from !== undefined && { from }) });
    if (page.records.some((record) => opensWith(opener, record, keyId))) {
      return true;
    }
    if (page.records.length < pageLength) {
      return false;
    }
    from = page.from + page.records.length;
  }
}

function opensWith(opener: SessionOpener, record: string, keyId: string): boolean {
  try {
    const opened = opener.recordNow(record);
    return "key" in opened && opened.key?.id === keyId;
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      return false;
    }
    throw error;
  }
}

function isWrongKey(error: unknown): error is EncryptionError {
  return EncryptionError.isInstance(error) && error.code === "wrong_key";
}
