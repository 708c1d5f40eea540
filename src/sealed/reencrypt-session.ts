import { maxTries } from "../base/tries.js";
import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/field.js";
import type { SessionKey } from "./keys/session-key.js";
import { ConfigurationError, RecordError } from "../base/errors.js";
import type { RecordSwap, SwapPass } from "../store/edits.js";
import { damaged, sessionLabel } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import type { IdentifyRecord } from "../store/session-writes.js";
import { needsSeal, openLabel, sealLabel } from "./lists.js";
import { sealRecord } from "./record.js";
import { SealedWrites } from "./writes.js";
import type { SessionOpener } from "./session-opener.js";
import type { SessionStore } from "../store/session-store.js";

/** Records that one script replaces; a server is busy with them for three milliseconds. */
const pageLength = 100;
/** A session to encrypt anew. */
export interface Reencryption {
  /** The store underneath. */
  readonly store: SessionStore;
  readonly ring: KeyRing;
  readonly session: SessionRef;
  readonly identify: IdentifyRecord;
}

/** Result of re-encrypting a session. */
export interface Reencrypted {
  /** Records, heads and side fields that were sealed with the current key. */
  readonly sealed: number;
  /** False if writers with other keys kept writing: call it again when they are gone. False with a `problem`, too. */
  readonly complete: boolean;
  /** A text that cannot be sealed, however often this is called; all others are. */
  readonly problem?: RecordError;
}

/** Texts with U+FFFD that a pass wanted to seal, by their places. */
type Replaced = ReadonlyMap<string | number, string>;

/**
 * Encrypts a session, plain texts included, with the current key while others write to it. Nothing is lost and no view
 * changes: a text that a writer changed meanwhile is left to the next pass. Undefined where no such session exists.
 *
 * @throws EncryptionError if a key is missing; StoreError `damaged`.
 */
export async function reencryptSession(work: Reencryption): Promise<Reencrypted | undefined> {
  let sealed = 0;
  let before: Replaced = new Map();
  let stuck: (string | number)[] = [];
  for (let count = 1; count <= maxTries.write; count += 1) {
    const pass = await onePass(work);
    if (pass === undefined) {
      return count === 1 ? undefined : { sealed, complete: true };
    }
    sealed += pass.sealed;
    if (pass.complete) {
      return { sealed, complete: true };
    }
    stuck = [...pass.replaced].filter(([place, text]) => before.get(place) === text).map(([place]) => place);
    before = pass.replaced;
  }
  const [place] = stuck;
  return { sealed, complete: false, ...(place !== undefined && { problem: invalidText(work.session.id, place) }) };
}

/**
 * A text with U+FFFD that was not replaced and is still the same is not the text that Redis holds: it stands for bytes
 * that are not valid UTF-8, and no comparison with it ever succeeds.
 */
function invalidText(sessionId: string, place: string | number): RecordError {
  const name = typeof place === "number" ? `record at position ${place}` : `field "${place}"`;
  return new RecordError(
    `The ${name} of ${sessionLabel(sessionId)} holds bytes that are not valid UTF-8, so it was not encrypted; the ` +
      "rest was. Remove it, by replaceFrom(), rewind() or clear(), and call reencrypt() again.",
    { code: "corrupt", position: typeof place === "number" ? place : undefined },
  );
}

interface PassResult extends Reencrypted {
  readonly replaced: Replaced;
}

async function onePass(work: Reencryption): Promise<PassResult | undefined> {
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
  const replaced = new Map<string | number, string>([...fields.replaced, ...records.replaced]);
  return { sealed: fields.sealed + records.sealed + label.sealed, complete: isWhole, replaced };
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
  const replaced = replacedIn(fields.map(({ name, was }) => [name, was]));
  return { sealed, left: fields.length - sealed, replaced };
}

/** Decoding puts U+FFFD in the place of bytes that are not valid UTF-8; a text may also hold it by itself. */
function replacedIn<Place>(texts: readonly (readonly [Place, string])[]): (readonly [Place, string])[] {
  return texts.filter(([, text]) => text.includes("\ufffd"));
}

/** Seals title and metadata anew. */
async function relabel({ store, session }: Reencryption, opener: SessionOpener, key: SessionKey) {
  const details = await store.lists.describe(session);
  if (details === undefined || !needsSeal(key, details.label)) {
    return { sealed: 0, left: 0 };
  }
  const label = sealLabel(key, await openLabel(opener, details.label));
  const changed = await store.lists.relabel(session, { label, version: details.labelVersion });
  return changed === "changed" ? { sealed: 1, left: 0 } : { sealed: 0, left: 1 };
}

async function swapRecords({ store, session, identify }: Reencryption, { opener, key, pass }: Pass) {
  let [from, sealed, left] = [0, 0, 0];
  const replaced: (readonly [number, string])[] = [];
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
    replaced.push(...replacedIn(records.map(({ position, was }) => [position, was] as const)));
    from = page.from + page.records.length;
    if (page.records.length === 0 || from >= page.next) {
      return { sealed, left, replaced };
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
