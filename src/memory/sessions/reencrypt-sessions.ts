import { ConfigurationError } from "../../base/errors.js";
import type { FoundPiece } from "../../store/redis-lists/kinds.js";
import { wireOf } from "../../store/redis-store/redis-session-store.js";
import { sealedParts, type SealedParts } from "../../store/sealed/loaded-store.js";
import { reencryptOthers, type Reencrypted } from "../../store/sealed/reencrypt-texts.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { concernsOneSession, leaveOut, type ProblemListeners } from "./stored-sessions.js";
import { maxTries } from "../../base/bounds.js";
import { identifyRecord } from "../../store/codec/stored-record.js";
import { sealedCopy, sealedTexts, asStored } from "../../store/sealed/store.js";
import type { OpenKey } from "../../store/sealed/keys/data-keys.js";
import { parseSealed, sealedTextParts } from "../../store/sealed/keys/session-key.js";
import type { MasterKey } from "../../store/sealed/keys/key-ring.js";
import { SealedCalls } from "../../store/sealed/sealed-calls.js";
import type { Stored } from "../../store/contract/stored-texts.js";
import { textFields } from "../../store/contract/session-data.js";
import type { CopiedRecord, CopiedTurn, CopyPage, WholeState } from "../../store/contract/session-data.js";
import { damaged } from "../../store/contract/refusals.js";
import { type SessionRef, keyParts } from "../../store/contract/session-ref.js";
import { turnsOf } from "./copy-session.js";
import { logPages } from "./read-log.js";

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

/** A session to encrypt, and to bring under the current master key. */
interface Reencryption extends SealedParts {
  readonly session: SessionRef;
  /** True to replace its data key too; without a current key, by none. */
  readonly dataKeys: boolean;
}

const nothing = { count: 1, sealed: 0, rewrapped: false, isLeft: false };

/**
 * Wraps the data key of a session with the current master key, while others write to it: they may hold either. Where a
 * text of it is plain, or with `dataKeys`, it gets another data key, and a copy sealed with that takes its place.
 *
 * @throws EncryptionError if a key is missing; StoreError `damaged`.
 */
export async function reencryptSession(work: Reencryption): Promise<Reencrypted> {
  const { store, session, keys, dataKeys } = work;
  const state = await store.edits.readKey(session);
  if (state === undefined) {
    return nothing;
  }
  const master = await keys.ring.current(session.id);
  const parts = state.stored && keyParts(state.stored);
  const isCopied = state.epoch !== "" && (dataKeys || parts?.hasPlain !== false);
  const key = master && keys.make(session.id, master, parts?.mark);
  if (isCopied && (key ?? (dataKeys ? parts : undefined)) !== undefined) {
    const outcome = await recopy(work, key).catch((error: unknown) => ({ error }));
    if ("error" in outcome || outcome.isLeft) {
      await (master && rewrap(work, master));
    }
    if ("error" in outcome) {
      throw outcome.error;
    }
    return { ...outcome, rewrapped: parts !== undefined && !outcome.isLeft };
  }
  const rewrapped = master && (await rewrap(work, master));
  if (state.epoch === "") {
    throw damaged("reencrypt", session.id);
  }
  return { ...nothing, isLeft: master === undefined && !dataKeys, ...rewrapped };
}

/** Brings the data key under the current master key. */
async function rewrap({ store, keys, session }: Reencryption, master: MasterKey): Promise<Partial<Reencrypted>> {
  for (let count = 1; count <= maxTries.write; count += 1) {
    const was = (await store.edits.readKey(session))?.stored;
    if (was === undefined || keyParts(was).masterId === master.id) {
      return {};
    }
    const now = await keys.rewrapped(session.id, was, master);
    if (await store.edits.rewrapKey(session, { was, now })) {
      return { rewrapped: true };
    }
  }
  return { isLeft: true };
}

/** Puts a copy of a session under another key in its place; tries again where others wrote meanwhile. */
async function recopy(work: Reencryption, key: OpenKey | undefined): Promise<Reencrypted> {
  const { keys, session } = work;
  const { copies } = asStored(work.store);
  const calls = new SealedCalls(keys, session);
  for (let count = 1; count <= maxTries.write; count += 1) {
    const was = await calls.read((caller) => copies.read(caller));
    if (was === undefined) {
      return nothing;
    }
    if (was.damaged) {
      throw damaged("reencrypt", session.id);
    }
    const copy = copyOf(work, calls, key);
    const now = sealedTexts(key?.key, calls.opened<WholeState>(was));
    const pages = () => copy.pages(was);
    const request = { was, now, key: key?.stored, openTurns: copy.openTurns, pages };
    if ((await calls.read((caller) => copies.replace(caller, request))) === "replaced") {
      keys.delete(session.id);
      return { ...nothing, sealed: copy.plainRecords + plainFields(was) };
    }
  }
  return { ...nothing, isLeft: true };
}

function plainFields(was: Stored<WholeState>): number {
  const texts = Object.values(textFields(was as unknown as WholeState));
  return texts.filter((text) => sealedTextParts(text) === undefined).length;
}

/** The records of a session under another key. */
function copyOf({ store, session }: Reencryption, calls: SealedCalls, key: OpenKey | undefined) {
  const copy = { openTurns: new Set<string>(), plainRecords: 0, pages };
  const readPage: typeof store.data.readPage = (_, request) =>
    calls.read((caller) => store.data.readPage(caller, request));
  async function* pages({ base, next }: Stored<WholeState>): AsyncGenerator<Stored<CopyPage>> {
    let from = base;
    for await (const stored of logPages({ data: { readPage } }, session, { from, end: next })) {
      const records = stored.map((text) => {
        const record = calls.record(text);
        return sealedCopy(key?.key, { record, identity: identifyRecord(record) });
      });
      yield { records, turns: await marksOf(records, { base, from }) };
      from += records.length;
      copy.plainRecords += stored.filter((text) => parseSealed(text) === undefined).length;
    }
  }
  /** The whole marks of the turns that are done, each once, with the first of its records. */
  async function marksOf(records: readonly Stored<CopiedRecord>[], { base, from }: { base: number; from: number }) {
    const names = [...turnsOf(records, from).keys()];
    const { turns } = await store.copies.readMarks(session, { turns: names });
    names.filter((_, index) => turns[index]?.done !== true).forEach((name) => copy.openTurns.add(name));
    return names.flatMap((name, index): CopiedTurn[] => {
      const { done, count, first } = turns[index] ?? { done: false, count: 0, first: 0 };
      return done && (first >= from || from === base) ? [{ name, count, first, doneAt: count }] : [];
    });
  }
  return copy;
}
