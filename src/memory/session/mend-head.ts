import { EncryptionError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { maxTries } from "../../base/tries.js";
import { decodeHead } from "../../store/codec/head.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";
import { headField, SealedCalls } from "../../store/sealed/sealed-calls.js";
import { keptRecords, refuseKept } from "../../store/contract/kept-records.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import type { SessionOfMemory } from "./session-of-memory.js";

const pageLength = 1_000;

/**
 * Repairs a head that differs from its stored count. An unreadable head is dropped, and the view is the whole log until
 * the next reduction. One round trip; one more for a repair.
 */
export async function mendHead(session: SessionOfMemory): Promise<void> {
  const { store } = session.context;
  for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
    const view = await viewWithHead(session);
    // Nobody has read its records: who mends a session by hand may not be done with them.
    refuseKept(keptRecords.get(view.records));
    const { epoch, rev, next } = view;
    const mended = mendedHead(view);
    if (
      mended === undefined ||
      (await store.commitReduction(session.reductionRef, { epoch, rev, next, ...mended })) !== "stale"
    ) {
      return;
    }
  }
}

/** The view with its head decrypted; if the key does not decrypt the head, as stored. */
async function viewWithHead({ context: { store }, ref }: SessionOfMemory): Promise<SessionView> {
  const sealed = sealedParts(store);
  if (sealed === undefined) {
    return store.readView(ref);
  }
  const calls = new SealedCalls(sealed.keys, ref);
  const view = await calls.read((caller) => sealed.store.readView(caller));
  const head = await unlessChanged(calls.field(headField, view.head));
  return { ...view, head: typeof head === "string" ? head : view.head };
}

/** Reports each record of the log that its key does not decrypt, because it was tampered with in Redis. */
export async function reportUnopened({ context: { store, onEvent }, ref, sessionId }: SessionOfMemory): Promise<void> {
  const sealed = sealedParts(store);
  const calls = sealed && new SealedCalls(sealed.keys, ref);
  for (let from: number | undefined; sealed !== undefined && calls !== undefined;) {
    const request = { limit: pageLength, ...(from !== undefined && { from }) };
    const page = await calls.read((caller) => sealed.store.readLog(caller, request));
    for (const [index, record] of page.records.entries()) {
      const error = await unlessChanged(calls.record(record));
      if (EncryptionError.isInstance(error)) {
        report(onEvent, { type: "record_skipped", sessionId, position: page.from + index, error });
      }
    }
    if (page.records.length < pageLength) {
      return;
    }
    from = page.from + page.records.length;
  }
}

/** The decrypted value, or the error for one that somebody changed. */
async function unlessChanged<Opened>(opening: Promise<Opened>): Promise<Opened | EncryptionError> {
  try {
    return await opening;
  } catch (error) {
    if (EncryptionError.isInstance(error) && error.code !== "unknown_key") {
      return error;
    }
    throw error;
  }
}

function mendedHead({ epoch, head, headCount, base, start }: SessionView) {
  try {
    const count = decodeHead(head).length;
    return epoch === "" || count === headCount ? undefined : { start, head, headCount: count };
  } catch {
    return { start: base, head: "", headCount: 0 };
  }
}
