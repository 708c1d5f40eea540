import { maxTries } from "../base/tries.js";
import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/field.js";
import type { SessionKey } from "./keys/session-key.js";
import { ConfigurationError } from "../base/errors.js";
import type { RecordSwap, SwapPass } from "../store/edits.js";
import { damaged } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import type { StoreWith } from "../store/groups.js";
import type { IdentifyRecord } from "../store/session-writes.js";
import { needsSeal, openLabel, sealLabel } from "./lists.js";
import { sealRecord } from "./record.js";
import { SealedWrites } from "./writes.js";
import type { SessionOpener } from "./session-opener.js";

/** Records that one script replaces; a server is busy with them for three milliseconds. */
const pageLength = 100;
/** A session to encrypt anew. */
export interface Reencryption {
  /** The store underneath. */
  readonly store: StoreWith<"edits">;
  readonly ring: KeyRing;
  readonly session: SessionRef;
  readonly identify: IdentifyRecord;
}

/** Result of re-encrypting a session. */
export interface Reencrypted {
  /** Records, heads and side fields that were sealed with the current key. */
  readonly sealed: number;
  /** False if writers with other keys kept writing: call it again when they are gone. */
  readonly complete: boolean;
}

/**
 * Seals all of a session with the current key, beside writers; what is plain, too. Nothing is lost and no view changes:
 * a text that a writer changed meanwhile is left to the next pass. Undefined for a session that does not exist.
 *
 * @throws EncryptionError if a key is missing; StoreError `damaged`.
 */
export async function reencryptSession(work: Reencryption): Promise<Reencrypted | undefined> {
  let sealed = 0;
  for (let count = 1; count <= maxTries.write; count += 1) {
    const pass = await onePass(work);
    if (pass === undefined) {
      return count === 1 ? undefined : { sealed, complete: true };
    }
    sealed += pass.sealed;
    if (pass.complete) {
      return { sealed, complete: true };
    }
  }
  return { sealed, complete: false };
}

async function onePass(work: Reencryption): Promise<Reencrypted | undefined> {
  const { store, ring, session } = work;
  const writes = new SealedWrites(ring, session);
  const begun = await writes.send(async (caller, key) => {
    if (key === undefined) {
      throw new ConfigurationError("encryption", "reencrypt() needs a current key in the option encryption.");
    }
    return { key, pass: await store.edits.beginSwaps(caller) };
  });
  const { key, pass } = begun;
  if (pass === undefined) {
    return undefined;
  }
  const fields = await swapFields(work, { opener: writes.opener, key, pass });
  const records = await swapRecords(work, { opener: writes.opener, key, pass });
  const label = await relabel(work, writes.opener, key);
  const isWhole =
    fields.left + records.left + label.left === 0 && (await store.edits.finishSwaps(session, pass, key.tag));
  return { sealed: fields.sealed + records.sealed + label.sealed, complete: isWhole };
}

interface Pass {
  readonly opener: SessionOpener;
  readonly key: SessionKey;
  readonly pass: SwapPass;
}

async function swapFields({ store, session }: Reencryption, { opener, key, pass }: Pass) {
  const fields: { name: string; was: string; text: string }[] = [];
  for (const [name, was] of Object.entries(pass.fields)) {
    if (was !== "" && !was.startsWith(`sealed:${key.id}.`)) {
      fields.push({ name, was, text: sealField(key, name, await opener.field(name, was)) });
    }
  }
  let sealed = 0;
  for (let first = 0; first < fields.length; first += pageLength) {
    const some = fields.slice(first, first + pageLength);
    sealed += await store.edits.swapRecords(session, { epoch: pass.epoch, records: [], fields: some });
  }
  return { sealed, left: fields.length - sealed };
}

/** Seals title and metadata anew, in the session and in its owner's list. */
async function relabel({ store, session }: Reencryption, opener: SessionOpener, key: SessionKey) {
  const details = await store.lists?.describe(session);
  if (details === undefined || !needsSeal(key, details.label)) {
    return { sealed: 0, left: 0 };
  }
  const label = sealLabel(key, await openLabel(opener, details.label));
  const changed = await store.lists!.relabel(session, { label, version: details.labelVersion });
  return changed === "changed" ? { sealed: 1, left: 0 } : { sealed: 0, left: 1 };
}

async function swapRecords({ store, session, identify }: Reencryption, { opener, key, pass }: Pass) {
  let [from, sealed, left] = [0, 0, 0];
  for (;;) {
    const page = await store.readLog(session, { from, limit: pageLength });
    if (page.damaged) {
      throw damaged("reencrypt", session.id);
    }
    const records: RecordSwap[] = [];
    for (const [index, was] of page.records.entries()) {
      const swap = await swapOf(was, { opener, key, identify, position: page.from + index });
      records.push(...(swap ? [swap] : []));
    }
    const done = records.length === 0 ? 0 : await store.edits.swapRecords(session, { epoch: pass.epoch, records });
    sealed += done;
    left += records.length - done;
    from = page.from + page.records.length;
    if (page.records.length === 0 || from >= page.next) {
      return { sealed, left };
    }
  }
}

async function swapOf(
  was: string,
  at: Pick<Pass, "opener" | "key"> & { readonly identify: IdentifyRecord; readonly position: number },
): Promise<RecordSwap | undefined> {
  const { opener, key, identify, position } = at;
  const { plain, key: sealedWith } = await opener.record(was);
  if (sealedWith?.tag === key.tag) {
    return undefined;
  }
  const identity = identify(plain, position);
  const text = sealRecord(key, plain, identity?.id ?? "");
  return {
    position,
    was,
    text,
    ...(identity && { identity: { id: identity.id, digest: key.digest(identity.digest) } }),
  };
}
