import { around, type StoreGroup } from "../contract/groups.js";
import type { SessionEdits } from "../contract/edits.js";
import type { SessionView } from "../contract/session-reads.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { IdentifyRecord } from "../contract/session-writes.js";
import type { SessionStore, SessionStoreCore } from "../contract/session-store.js";
import type { Stored, WithoutTexts, WithTexts } from "../contract/stored-texts.js";
import { sealedData } from "./session-data.js";
import { sealedCopies } from "./copies.js";
import { SessionKeys } from "./keys/data-keys.js";
import type { KeyRing } from "./keys/key-ring.js";
import { sealedLists } from "./lists.js";
import type { SealedParts } from "./loaded-store.js";
import { SealedCalls, sealHead, unlessChanged } from "./sealed-calls.js";
import { sealedAppend } from "./writes.js";

/**
 * A store whose records, heads and side fields lie encrypted in the store underneath, with the same contract; limits of
 * sizes count what is stored, which is about a seventh longer. A text of the contract that is not sealed and opened
 * here does not compile: see {@link Stored}.
 *
 * Every method throws EncryptionError.
 */
export function sealedStore(
  inner: SessionStore,
  ring: KeyRing,
  keys = new SessionKeys(ring),
): SessionStore & { readonly sealed: SealedParts } {
  const callsOf = (session: SessionRef) => new SealedCalls(keys, session);
  const forgetAfter = async <Result>(session: SessionRef, work: Promise<Result>): Promise<Result> => {
    try {
      return await work;
    } finally {
      keys.delete(session.id);
    }
  };
  const { core, edits, data, lists, copies } = plainMethods(inner);
  const stored = asStored(inner);
  return {
    ...sealedCore(stored, callsOf),
    clear: (session) => forgetAfter(session, core.clear(session)),
    edits: { ...edits, ...sealedEdits(stored.edits, callsOf) },
    data: {
      ...{ ...data, ...sealedData(stored.data, callsOf) },
      restart: (session) => forgetAfter(session, data.restart(session)),
    },
    lists: {
      ...{ ...lists, ...sealedLists(stored.lists, callsOf) },
      erase: (session, request) => forgetAfter(session, lists.erase(session, request)),
    },
    copies: { ...copies, ...sealedCopies(stored.copies, callsOf) },
    limits: inner.limits,
    close: () => inner.close(),
    sealed: { store: inner, keys },
  };
}

/** The store underneath, whose texts are sealed. */
export function asStored(inner: SessionStore): Stored<SessionStore> {
  return inner as unknown as Stored<SessionStore>;
}

/** The calls of a session. */
export type CallsOf = (session: SessionRef) => SealedCalls;

/** The methods that carry no texts, without the label of their caller. */
function plainMethods(inner: SessionStore): { readonly core: WithoutTexts<SessionStoreCore> } & {
  readonly [G in StoreGroup]: WithoutTexts<SessionStore[G]>;
} {
  const bare = around(inner, ({ session }, go) => go({ ...session, label: undefined }));
  return { ...bare, core: bare };
}

function sealedCore(inner: Stored<SessionStoreCore>, callsOf: CallsOf): WithTexts<SessionStoreCore> {
  return {
    append: (session, { records, side, ...request }) =>
      sealedAppend<never>(callsOf(session), { records, ...(side && { side }) }, (caller, sealed) =>
        inner.append(caller, { ...request, ...sealed }),
      ),
    readView: (session, options) =>
      callsOf(session).readTexts<SessionView>((caller) => inner.readView(caller, options)),
    commitReduction: (session, request) =>
      callsOf(session).write(
        (caller, key) => inner.commitReduction(caller, { ...request, head: sealHead(key, request.head) }),
        (outcome) => outcome === "committed",
      ),
  };
}

function sealedEdits(
  edits: Stored<SessionEdits>,
  callsOf: CallsOf,
): WithTexts<SessionEdits> & Pick<SessionEdits, "rewind" | "rebuild"> {
  return {
    rewind: (session, request) =>
      callsOf(session).write(
        (caller) => edits.rewind(caller, request),
        () => false,
      ),
    replaceTail: (session, { records, side, ...request }) =>
      sealedAppend(callsOf(session), { records, ...(side && { side }) }, (caller, sealed) =>
        edits.replaceTail(caller, { ...request, ...sealed }),
      ),
    rebuild: async (session, identify, options) => {
      const calls = callsOf(session);
      return calls.read((caller) => edits.rebuild(caller, identifySealed(calls, identify), options));
    },
  };
}

/**
 * Identifies records that may be sealed. A record that was changed in Redis stays in the log, as one that cannot be
 * read; where the session's key is lost, a rebuild is refused: it would forget the ids of all messages.
 */
function identifySealed(calls: SealedCalls, identify: IdentifyRecord): IdentifyRecord {
  return (record, position) => {
    const plain = unlessChanged(() => calls.record(record));
    const identity = typeof plain === "string" ? identify(plain, position) : undefined;
    return plain === record ? identity : identity && { ...identity, digest: calls.digest(identity.digest) };
  };
}
