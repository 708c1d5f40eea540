import { maxTries } from "../../base/tries.js";
import { identifyRecord } from "../../store/codec/message-ids.js";
import { sealedCopy, sealedTexts } from "../../store/sealed/copies.js";
import type { OpenKey } from "../../store/sealed/keys/data-keys.js";
import { parseSealed } from "../../store/sealed/keys/header.js";
import type { MasterKey } from "../../store/sealed/keys/key-ring.js";
import { sealedTextParts } from "../../store/sealed/keys/text.js";
import type { Reencrypted } from "../../store/sealed/reencrypt-texts.js";
import type { SealedParts } from "../../store/sealed/loaded-store.js";
import { SealedCalls } from "../../store/sealed/sealed-calls.js";
import { asStored } from "../../store/sealed/store.js";
import type { Stored } from "../../store/contract/stored-texts.js";
import {
  textFields,
  type CopiedRecord,
  type CopiedTurn,
  type CopyPage,
  type WholeState,
} from "../../store/contract/copies.js";
import { damaged } from "../../store/contract/refusals.js";
import type { SessionRef } from "../../store/contract/session-ref.js";
import { keyParts } from "../../store/contract/writer-keys.js";
import { turnsOf } from "./copy-session.js";
import { logPages } from "./read-log.js";

/** A session to encrypt, and to bring under the current master key. */
export interface Reencryption extends SealedParts {
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
