import { passedOn } from "../store/groups.js";
import type { SessionEdits } from "../store/edits.js";
import { checkSessionId, type SessionRef } from "../store/session-ref.js";
import type { SessionStoreCore } from "../store/session-store.js";
import { sealField } from "./keys/field.js";
import type { KeyRing } from "./keys/key-ring.js";
import type { SealedParts } from "./loaded-store.js";
import { rebuildSealed } from "./rebuild-sealed.js";
import { sealedBeside } from "./beside.js";
import { sealedCopies } from "./copies.js";
import { sealedLists } from "./lists.js";
import { SealedWrites } from "./writes.js";
import { headField } from "./session-opener.js";
import type { SessionStore } from "../store/session-store.js";

/**
 * A store whose records, heads and side fields lie encrypted in the store underneath, with the same contract; limits of
 * sizes count what is stored, which is about a seventh longer.
 *
 * Every method throws EncryptionError `unknown_key` and `wrong_key`.
 */
export function sealedStore(inner: SessionStore, ring: KeyRing): SessionStore & { readonly sealed: SealedParts } {
  const { limits, edits, beside, lists, copies } = inner;
  const writes = (session: SessionRef) => {
    checkSessionId(session.id);
    return new SealedWrites(ring, session);
  };
  return {
    ...sealedCore(inner, writes),
    limits,
    edits: sealedEdits(inner, edits, writes),
    beside: sealedBeside(beside, writes),
    lists: sealedLists(lists, ring),
    copies: sealedCopies(inner, copies, ring),
    close: () => inner.close(),
    sealed: { store: inner, ring },
  };
}

type Writes = (session: SessionRef) => SealedWrites;

function sealedCore(inner: SessionStore, writes: Writes): SessionStoreCore {
  return {
    append: async (session, request) =>
      writes(session).append(request, (caller, sealed) => inner.append(caller, sealed)),
    readView: async (session, options) => writes(session).opener.view(await inner.readView(session, options)),
    readLog: async (session, options) => writes(session).opened(await inner.readLog(session, options)),
    commitReduction: async (session, request) =>
      writes(session).send((caller, key) => {
        const plain = key === undefined || typeof request.head !== "string" || request.head === "";
        const head = plain ? request.head : sealField(key, headField, request.head);
        return inner.commitReduction(caller, { ...request, head });
      }),
    clear: (session) => inner.clear(session),
  };
}

function sealedEdits(inner: SessionStore, edits: SessionEdits, writes: Writes): SessionEdits {
  return {
    ...passedOn("edits", edits),
    rewind: async (session, request) => writes(session).send((caller) => edits.rewind(caller, request)),
    replaceTail: async (session, request) =>
      writes(session).append(request, (caller, sealed) => edits.replaceTail(caller, sealed)),
    rebuild: async (session, identify, options) => {
      const { opener } = writes(session);
      return rebuildSealed({
        store: { readLog: (...args) => inner.readLog(...args), edits },
        opener,
        session,
        identify,
        options,
      });
    },
  };
}
