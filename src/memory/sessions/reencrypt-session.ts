import { RecordError } from "../../base/errors.js";
import { randomToken, shortHash } from "../../base/ids.js";
import { maxTries } from "../../base/tries.js";
import { identifyRecord } from "../../store/codec/message-ids.js";
import { sha1 } from "../../store/redis/keys.js";
import { openState, sealedCopy, sealedState } from "../../store/sealed/copies.js";
import { newKey, rewrapKey, type OpenKey } from "../../store/sealed/keys/data-keys.js";
import { parseSealed } from "../../store/sealed/keys/header.js";
import type { MasterKey } from "../../store/sealed/keys/key-ring.js";
import { sealedTextParts } from "../../store/sealed/keys/text.js";
import type { SealedParts } from "../../store/sealed/loaded-store.js";
import { SealedCalls } from "../../store/sealed/sealed-calls.js";
import {
  textFields,
  type CopiedRecord,
  type CopiedTurn,
  type CopyPage,
  type WholeState,
} from "../../store/contract/copies.js";
import { damaged, sessionLabel } from "../../store/contract/refusals.js";
import type { SessionRef } from "../../store/contract/session-ref.js";
import { keyParts } from "../../store/contract/writer-keys.js";
import { turnsOf } from "./copy-session.js";
import { LogReader } from "./read-log.js";

/** A session to encrypt, and to bring under the current master key. */
export interface Reencryption extends SealedParts {
  readonly session: SessionRef;
  /** True to replace its data key too; without a current key, by none. */
  readonly dataKeys: boolean;
}

/** Result of re-encrypting a session. */
export interface Reencrypted {
  /** Plain texts that were sealed. */
  readonly sealed: number;
  /** True if its data key was replaced, or wrapped with the current master key. */
  readonly rewrapped: boolean;
  /** False if others kept changing what had to be changed: call it again. False with a `problem`, too. */
  readonly complete: boolean;
  /** A text that cannot be copied, however often this is called. */
  readonly problem?: RecordError;
}

/**
 * Wraps the data key of a session with the current master key, while others write to it: they may hold either. Where a
 * text of it is plain, or with `dataKeys`, it gets another data key, and a copy sealed with that takes its place.
 * Undefined where no such session exists.
 *
 * @throws EncryptionError if a key is missing; StoreError `damaged`.
 */
export async function reencryptSession(work: Reencryption): Promise<Reencrypted | undefined> {
  const { store, session, ring, dataKeys } = work;
  const found = await store.edits.readKey(session);
  if (found === undefined) {
    return undefined;
  }
  const master = dataKeys ? await ring.current(session.id) : await ring.required(session.id);
  const parts = found.stored && keyParts(found.stored);
  const isCopied = found.epoch !== "" && (dataKeys || parts?.hasPlain !== false);
  const place = { kind: "session", id: session.id } as const;
  const key = master && newKey(place, master, parts?.mark);
  const isPlain = key === undefined && parts === undefined;
  const done = isCopied && !isPlain ? await recopy(work, key) : { sealed: 0, complete: !isCopied || isPlain };
  if (isCopied && done.complete) {
    return { ...done, rewrapped: parts !== undefined };
  }
  const outcome = master === undefined ? "same" : await rewrap(work, master);
  if (found.epoch === "") {
    throw damaged("reencrypt", session.id);
  }
  return { ...done, rewrapped: outcome === "rewrapped", complete: done.complete && outcome !== "changed" };
}

/** Brings the data key under the current master key. */
async function rewrap(
  { store, ring, session }: Reencryption,
  master: MasterKey,
): Promise<"same" | "rewrapped" | "changed"> {
  for (let count = 1; count <= maxTries.write; count += 1) {
    const was = (await store.edits.readKey(session))?.stored;
    if (was === undefined || keyParts(was).masterId === master.id) {
      return "same";
    }
    const now = await rewrapKey(ring, { kind: "session", id: session.id }, was, master);
    if (await store.edits.rewrapKey(session, { was, now })) {
      return "rewrapped";
    }
  }
  return "changed";
}

/** Puts a copy of a session under another key in its place. It goes on with what it has where others only appended. */
async function recopy(work: Reencryption, key: OpenKey | undefined): Promise<Omit<Reencrypted, "rewrapped">> {
  const { store, keys, session } = work;
  const calls = new SealedCalls(keys, session);
  const token = randomToken();
  let copy: SessionCopy | undefined;
  let invalid: string | number | undefined;
  for (let count = 1; count <= maxTries.write; count += 1) {
    const was = await calls.read((caller) => store.copies.read(caller));
    if (was === undefined) {
      return { sealed: 0, complete: true };
    }
    if (was.damaged) {
      throw damaged("reencrypt", session.id);
    }
    const tag = shortHash(JSON.stringify([token, was.epoch, was.cut, was.base]), 14);
    const current = copy?.tag === tag ? copy : new SessionCopy(work, { calls, key, tag });
    copy = current;
    const now = sealedState(key?.key, await openState(calls, was));
    const { openTurns, exact } = current;
    const pages = (from: number) => current.pages(was, from);
    const request = { was, now, key: key?.stored, tag, openTurns, exact, pages };
    if ((await calls.read((caller) => store.copies.replace(caller, request))) === "replaced") {
      keys.forget(session.id);
      return { sealed: current.plainRecords + plainFields(was).length, complete: true };
    }
    [invalid] = [...exact.keys(), ...plainFields(was).flatMap(([name, text]) => (text.includes("\ufffd") ? name : []))];
  }
  return { sealed: 0, complete: false, ...(invalid !== undefined && { problem: invalidText(session.id, invalid) }) };
}

function plainFields(state: WholeState): [name: string, text: string][] {
  return Object.entries(textFields(state)).filter(([, text]) => sealedTextParts(text) === undefined);
}

/**
 * A text with U+FFFD may not be the text that Redis holds: it stands for bytes that are not valid UTF-8, and no
 * comparison with it ever succeeds.
 */
function invalidText(sessionId: string, place: string | number): RecordError {
  const name = typeof place === "number" ? `record at position ${place}` : `field "${place}"`;
  return new RecordError(
    `The ${name} of ${sessionLabel(sessionId)} holds bytes that are not valid UTF-8, so the session was not ` +
      "encrypted. Remove it, by replaceFrom(), rewind() or clear(), and call reencrypt() again.",
    { code: "corrupt", position: typeof place === "number" ? place : undefined },
  );
}

/** The records of a session under another key. */
class SessionCopy {
  readonly tag: string;
  readonly openTurns = new Set<string>();
  readonly exact = new Map<number, string>();
  plainRecords = 0;
  readonly #work: Reencryption;
  readonly #calls: SealedCalls;
  readonly #key: OpenKey | undefined;

  constructor(work: Reencryption, { calls, key, tag }: { calls: SealedCalls; key: OpenKey | undefined; tag: string }) {
    this.tag = tag;
    this.#work = work;
    this.#calls = calls;
    this.#key = key;
  }

  async *pages({ base, next }: WholeState, from: number): AsyncGenerator<CopyPage> {
    const { store, session } = this.#work;
    const readLog: typeof store.readLog = (_, options) => this.#calls.read((caller) => store.readLog(caller, options));
    const reader = new LogReader({ readLog }, session);
    for (let position = from; position < next;) {
      const overlap = position > base ? 1 : 0;
      const stored = (await reader.read(position - overlap, next)) ?? [];
      if (stored.length <= overlap) {
        return;
      }
      const records: CopiedRecord[] = [];
      for (const [index, record] of stored.entries()) {
        records.push(await this.#copied(record, position - overlap + index));
      }
      const before = overlap === 0 ? undefined : records.shift();
      yield { records, turns: await this.#turnsOf(records, { base, from: position }), before };
      position += records.length;
      this.plainRecords += stored.slice(overlap).filter((record) => parseSealed(record) === undefined).length;
    }
  }

  async #copied(stored: string, position: number): Promise<CopiedRecord> {
    if (stored.includes("\ufffd")) {
      this.exact.set(position, sha1(stored));
    }
    const record = await this.#calls.record(stored);
    return sealedCopy(this.#key?.key, { record, identity: identifyRecord(record) });
  }

  /** The whole marks of the turns that are done, each once, with the first of its records. */
  async #turnsOf(records: readonly CopiedRecord[], { base, from }: { base: number; from: number }) {
    const names = [...turnsOf(records, from).keys()];
    const { turns } = await this.#work.store.copies.readMarks(this.#work.session, { turns: names });
    return names.flatMap((name, index): CopiedTurn[] => {
      const mark = turns[index];
      if (mark?.done !== true) {
        this.openTurns.add(name);
        return [];
      }
      const { count, first } = mark;
      return first >= from || from === base ? [{ name, count, first, doneAt: count }] : [];
    });
  }
}
