import { passedOn } from "../contract/groups.js";
import type { SessionEdits } from "../contract/edits.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { IdentifyRecord } from "../contract/session-writes.js";
import type { SessionStore, SessionStoreCore } from "../contract/session-store.js";
import { sealedBeside } from "./beside.js";
import { sealedCopies } from "./copies.js";
import { DataKeys } from "./keys/data-keys.js";
import { parseSealed } from "./keys/header.js";
import type { KeyRing } from "./keys/key-ring.js";
import { sealedLists } from "./lists.js";
import type { SealedParts } from "./loaded-store.js";
import { openRecord } from "./record.js";
import { headField, SealedCalls, sealField } from "./sealed-calls.js";
import { sealedAppend } from "./writes.js";

/**
 * A store whose records, heads and side fields lie encrypted in the store underneath, with the same contract; limits of
 * sizes count what is stored, which is about a seventh longer. A method that is neither sealed here nor named as one
 * that carries no text does not compile.
 *
 * Every method throws EncryptionError.
 */
export function sealedStore(
  inner: SessionStore,
  ring: KeyRing,
  keys = new DataKeys(ring),
): SessionStore & { readonly sealed: SealedParts } {
  const callsOf = (session: SessionRef) => new SealedCalls(keys, session);
  const forgetAfter = async <Result>(session: SessionRef, work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } finally {
      keys.forget(session.id);
    }
  };
  const { limits, edits, beside, lists, copies } = inner;
  return {
    ...sealedCore(inner, callsOf),
    clear: (session) => forgetAfter(session, inner.clear(session)),
    limits,
    edits: sealedEdits(edits, callsOf, keys.refusesPlain),
    beside: {
      ...sealedBeside(beside, callsOf),
      restart: (session) => forgetAfter(session, beside.restart(session)),
    },
    lists: {
      ...sealedLists(lists, callsOf),
      erase: (session, request) => forgetAfter(session, lists.erase(session, request)),
    },
    copies: sealedCopies(copies, callsOf),
    close: () => inner.close(),
    sealed: { store: inner, ring, keys },
  };
}

/** The calls of a session. */
export type CallsOf = (session: SessionRef) => SealedCalls;

function sealedCore(inner: SessionStore, callsOf: CallsOf): Omit<SessionStoreCore, "clear"> {
  return {
    append: async (session, request) =>
      sealedAppend(callsOf(session), request, (caller, sealed) => inner.append(caller, sealed)),
    readView: async (session, options) => {
      const calls = callsOf(session);
      return calls.view(await calls.read((caller) => inner.readView(caller, options)));
    },
    readLog: async (session, options) => {
      const calls = callsOf(session);
      return calls.opened(await calls.read((caller) => inner.readLog(caller, options)));
    },
    commitReduction: async (session, request) =>
      callsOf(session).write(
        (caller, key) => {
          const head = request.head === "" ? "" : sealField(key, headField, request.head);
          return inner.commitReduction(caller, { ...request, head });
        },
        (outcome) => outcome === "committed",
      ),
  };
}

function sealedEdits(edits: SessionEdits, callsOf: CallsOf, refusesPlain: boolean): SessionEdits {
  return {
    ...passedOn(edits, ["readKey", "rewrapKey"]),
    rewind: async (session, request) =>
      callsOf(session).write(
        (caller) => edits.rewind(caller, request),
        () => false,
      ),
    replaceTail: async (session, request) =>
      sealedAppend(callsOf(session), request, (caller, sealed) => edits.replaceTail(caller, sealed)),
    rebuild: async (session, identify, options) => {
      const calls = callsOf(session);
      return calls.read((caller) => edits.rebuild(caller, identifySealed(calls, identify, refusesPlain), options));
    },
  };
}

/**
 * Identifies records that may be sealed. A record that was changed in Redis stays in the log, as one that cannot be
 * read; where the session's key is lost, a rebuild is refused: it would forget the ids of all messages.
 */
function identifySealed(calls: SealedCalls, identify: IdentifyRecord, refusesPlain: boolean): IdentifyRecord {
  return (record, position) => {
    const sealed = parseSealed(record);
    if (sealed === undefined) {
      return refusesPlain ? undefined : identify(record, position);
    }
    const key = calls.keyNow(sealed.header.sealed);
    if (key === undefined) {
      const refusal = calls.refusal(sealed.header.sealed);
      if (refusal.code === "unknown_key") {
        throw refusal;
      }
      return undefined;
    }
    const plain = openRecord(key, sealed);
    const identity = plain === undefined ? undefined : identify(plain, position);
    return identity && { ...identity, digest: key.digest(identity.digest) };
  };
}
