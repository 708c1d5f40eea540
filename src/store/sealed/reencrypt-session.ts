import { RecordError } from "../../base/errors.js";
import { maxTries } from "../../base/tries.js";
import type { WholeState } from "../contract/copies.js";
import type { RecordSwap, SwapRequest } from "../contract/edits.js";
import { damaged, plainText, sessionLabel } from "../contract/refusals.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { IdentifyRecord } from "../contract/session-writes.js";
import { keyParts } from "../contract/writer-keys.js";
import { rewrapKey } from "./keys/data-keys.js";
import { parseSealed } from "./keys/header.js";
import type { MasterKey } from "./keys/key-ring.js";
import { sealedTextParts } from "./keys/text.js";
import type { SessionKey } from "./keys/session-key.js";
import type { SealedParts } from "./loaded-store.js";
import { sealRecord } from "./record.js";
import { headField, labelTexts, SealedCalls, sealField, sideField } from "./sealed-calls.js";

/** Texts that one script replaces; a server is busy with them for three milliseconds. */
const pageLength = 100;

/** A session to seal, and to bring under the current master key. */
export interface Reencryption extends SealedParts {
  readonly session: SessionRef;
  readonly identify: IdentifyRecord;
}

/** Result of re-encrypting a session. */
export interface Reencrypted {
  /** Plain texts that were sealed. */
  readonly sealed: number;
  /** True if the data key was wrapped with the current master key. */
  readonly rewrapped: boolean;
  /** False if others kept changing what had to be changed: call it again. False with a `problem`, too. */
  readonly complete: boolean;
  /** A text that cannot be sealed, however often this is called; all others are. */
  readonly problem?: RecordError;
}

/**
 * Seals what is plain of a session, and wraps its data key with the current master key, while others write to it: they
 * may hold either master key. Records that are sealed already stay as they are. Undefined where no such session exists.
 *
 * @throws EncryptionError if a key is missing; StoreError `damaged`.
 */
export async function reencryptSession(work: Reencryption): Promise<Reencrypted | undefined> {
  const { store, session } = work;
  const found = await store.edits.readKey(session);
  if (found === undefined) {
    return undefined;
  }
  const master = await work.ring.required(session.id);
  if (found.epoch === "") {
    await rewrap(work, master, false);
    throw damaged("reencrypt", session.id);
  }
  const hasPlain = found.stored === undefined || keyParts(found.stored).hasPlain;
  const done = hasPlain ? await sealPlain(work) : { sealed: 0, complete: true };
  const outcome = await rewrap(work, master, done.complete);
  return { ...done, rewrapped: outcome === "rewrapped", complete: done.complete && outcome !== "changed" };
}

/** Brings the data key under the current master key; with everything sealed, without the mark of plain text. */
async function rewrap(
  { store, ring, session }: Reencryption,
  master: MasterKey,
  isSealed: boolean,
): Promise<"same" | "rewrapped" | "changed"> {
  for (let count = 1; count <= maxTries.write; count += 1) {
    const was = (await store.edits.readKey(session))?.stored;
    const { masterId, hasPlain } = was === undefined ? { masterId: master.id, hasPlain: false } : keyParts(was);
    if (was === undefined || (masterId === master.id && !(hasPlain && isSealed))) {
      return "same";
    }
    const place = { kind: "session", id: session.id } as const;
    const now = await rewrapKey(ring, place, was, { master, hasPlain: hasPlain && !isSealed });
    if (await store.edits.rewrapKey(session, { was, now })) {
      return masterId === master.id ? "same" : "rewrapped";
    }
  }
  return "changed";
}

/** Seals plain texts until a pass finds none: nobody adds any once the session has its key. */
async function sealPlain(work: Reencryption): Promise<Omit<Reencrypted, "rewrapped">> {
  let sealed = 0;
  let invalid: string | number | undefined;
  for (let count = 1; count <= maxTries.write; count += 1) {
    const pass = await onePass(work);
    sealed += pass.sealed;
    if (pass.plain === 0) {
      return { sealed, complete: true };
    }
    ({ invalid } = pass);
  }
  return { sealed, complete: false, ...(invalid !== undefined && { problem: invalidText(work.session.id, invalid) }) };
}

/**
 * A text with U+FFFD that no pass replaced is not the text that Redis holds: it stands for bytes that are not valid
 * UTF-8, and no comparison with it ever succeeds.
 */
function invalidText(sessionId: string, place: string | number): RecordError {
  const name = typeof place === "number" ? `record at position ${place}` : `field "${place}"`;
  return new RecordError(
    `The ${name} of ${sessionLabel(sessionId)} holds bytes that are not valid UTF-8, so it was not encrypted; the ` +
      "rest was. Remove it, by replaceFrom(), rewind() or clear(), and call reencrypt() again.",
    { code: "corrupt", position: typeof place === "number" ? place : undefined },
  );
}

/** Counts of a pass. */
interface Pass {
  /** Plain texts that the pass found. */
  plain: number;
  /** Texts that the pass sealed. */
  sealed: number;
  /** The place of one with U+FFFD. */
  invalid?: string | number;
}

async function onePass(work: Reencryption): Promise<Pass> {
  const { store, keys, session } = work;
  const calls = new SealedCalls(keys, session);
  const state = await calls.read((caller) => store.copies.read(caller));
  if (state === undefined) {
    return { plain: 0, sealed: 0 };
  }
  if (state.damaged) {
    throw damaged("reencrypt", session.id);
  }
  const pass: Pass = { plain: 0, sealed: 0 };
  const { epoch } = state;
  const fields = plainFields(state);
  for (let first = 0; first < fields.length; first += pageLength) {
    const some = fields.slice(first, first + pageLength);
    note(pass, some);
    pass.sealed += await swap(calls, work, (key) => ({
      epoch,
      records: [],
      fields: some.map(([name, was]) => ({ name, was, text: sealField(key, name, was) })),
    }));
  }
  for (let from = 0; ;) {
    const page = await calls.read((caller) => store.readLog(caller, { from, limit: pageLength }));
    const all = page.records.map((record, index) => [page.from + index, record] as const);
    const some = all.filter(([, record]) => parseSealed(record) === undefined);
    note(pass, some);
    const swaps = (key: SessionKey) => some.map(([position, was]) => recordSwap(key, work.identify, { position, was }));
    pass.sealed += some.length === 0 ? 0 : await swap(calls, work, (key) => ({ epoch, records: swaps(key) }));
    from = page.from + page.records.length;
    if (page.records.length === 0 || from >= page.next) {
      return pass;
    }
  }
}

/** Plain texts beside the log, by the names that a swap takes. */
function plainFields({ head, label, side }: WholeState): (readonly [name: string, text: string])[] {
  const texts: (readonly [string, string | undefined])[] = [
    [headField, head === "" ? undefined : head],
    ...labelTexts.map((name) => [name, label[name]] as const),
    ...Object.entries(side).map(([name, text]) => [sideField(name), text] as const),
  ];
  return texts.flatMap(([name, text]) => (text === undefined || sealedTextParts(text) ? [] : [[name, text] as const]));
}

/** Counts plain texts. Decoding puts U+FFFD in the place of bytes that are not valid UTF-8; a text may also hold it. */
function note(pass: Pass, texts: readonly (readonly [place: string | number, text: string])[]): void {
  pass.plain += texts.length;
  const [place] = texts.find(([, text]) => text.includes("\ufffd")) ?? [];
  if (place !== undefined) {
    pass.invalid = place;
  }
}

/** Replaces texts under the session's key, which a session without one takes from here. */
function swap(
  calls: SealedCalls,
  { store, ring, session }: Reencryption,
  request: (key: SessionKey) => SwapRequest,
): Promise<number> {
  if (ring.refusesPlain) {
    throw plainText(session.id);
  }
  return calls.write(
    (caller, key) => store.edits.swapRecords(caller, request(key!)),
    (count) => count > 0,
  );
}

function recordSwap(
  key: SessionKey,
  identify: IdentifyRecord,
  { position, was }: { readonly position: number; readonly was: string },
): RecordSwap {
  const identity = identify(was, position);
  const text = sealRecord(key, was, identity?.id ?? "");
  const known = identity && { id: identity.id, digest: key.digest(identity.digest) };
  return { position, was, text, ...(known && { identity: known }) };
}
