import { EncryptionError } from "../../base/errors.js";
import { around, type StoreGroup } from "../contract/groups.js";
import { anyDigest } from "../contract/session-writes.js";
import type {
  SessionEdits,
  AppendRequest,
  AppendResult,
  IdentifyRecord,
  SideWrite,
  StoredTurn,
} from "../contract/session-writes.js";
import type { SessionView } from "../contract/session-reads.js";
import type {
  SessionRef,
  SessionDetails,
  SessionLabel,
  SessionLists,
  SessionSummary,
} from "../contract/session-ref.js";
import { OtherDigests } from "../contract/refusals.js";
import type {
  SessionData,
  StoredPage,
  CopiedRecord,
  CopyPage,
  KeptState,
  NewState,
  ReplaceRequest,
  SessionCopies,
  WholeState,
} from "../contract/session-data.js";
import type { SessionStore, SessionStoreCore } from "../contract/session-store.js";
import type { Stored, WithoutTexts, WithTexts } from "../contract/stored-texts.js";
import { SessionKeys } from "./keys/data-keys.js";
import type { KeyRing } from "./keys/key-ring.js";
import type { SealedParts } from "./loaded-store.js";
import { SealedCalls, sealFields, sealHead, unlessChanged, sealLabel, unsealed } from "./sealed-calls.js";
import type { SessionKey } from "./keys/session-key.js";
import { sealRecord } from "./record.js";

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
    data: { ...data, ...sealedData(stored.data, callsOf) },
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

/** Data beside the log: seals side fields; opens records of pages. */
function sealedData(data: Stored<SessionData>, callsOf: CallsOf): WithTexts<SessionData> {
  return {
    readSide: async (session, prefix) => {
      const calls = callsOf(session);
      const side = await calls.read((caller) => data.readSide(caller, prefix));
      return calls.opened<{ readonly side: Record<string, string> }>({ side }).side;
    },
    writeSide: (session, changes) => writeSide(data, callsOf(session), changes),
    readPage: (session, request) =>
      callsOf(session).readTexts<StoredPage | undefined>((caller) => data.readPage(caller, request)),
  };
}

async function writeSide(
  data: Stored<SessionData>,
  calls: SealedCalls,
  { expected, set = {}, ...changes }: SideWrite,
): Promise<boolean> {
  const write = (asStored: Stored<Readonly<Record<string, string>>> = {}) =>
    calls.write(
      (caller, key) => {
        const wanted = expected && { expected: { ...sealFields(key, expected), ...asStored } };
        return data.writeSide(caller, { ...changes, set: sealFields(key, set), ...wanted });
      },
      (written) => written && Object.keys(set).length > 0,
    );
  const isWritten = await write();
  if (isWritten || expected === undefined) {
    return isWritten;
  }
  // A value may have been stored before the session was encrypted.
  const side = await calls.read((caller) => data.readSide(caller, ""));
  const plain = Object.entries(side).filter(([name, text]) => expected[name] === (text as unknown));
  return plain.length > 0 && write(Object.fromEntries(plain));
}

type AppendTexts = Pick<AppendRequest, "records" | "side">;

/**
 * Seals an append and sends it. Where ids may be those of plain records, it is sent again with their digests too, so
 * that a repetition is one also where encryption was switched on in between.
 */
async function sealedAppend<Other extends "stale" = never>(
  calls: SealedCalls,
  texts: AppendTexts,
  send: (caller: Stored<SessionRef>, sealed: Stored<AppendTexts>) => Promise<Stored<AppendResult> | Other>,
): Promise<AppendResult | Other> {
  const { records, side } = texts;
  const { set, ...changes } = side ?? {};
  const isSet = Object.keys(set ?? {}).length > 0;
  const stores = (result: Stored<AppendResult> | Other) =>
    typeof result !== "string" &&
    (result.appended > 0 || (isSet && result.turn === undefined && result.place?.isHeld !== false));
  const sent = (hasOther: boolean) =>
    calls.write((caller, key) => {
      const sealed = records.map((record) => calls.sealNew(key, record, hasOther));
      const sealedSide = side && { side: { ...changes, ...(set && { set: sealFields(key, set) }) } };
      return send(caller, { records: sealed, ...sealedSide });
    }, stores);
  const result = await sent(false).catch((error: unknown) => {
    if (error instanceof OtherDigests) {
      return sent(true);
    }
    throw error;
  });
  return typeof result === "string" ? result : openedResult(calls, result);
}

function openedResult(calls: SealedCalls, { view, turn, ...written }: Stored<AppendResult>): AppendResult {
  const opened = view && openedView(calls, view);
  return { ...written, ...(opened && { view: opened }), ...(turn && { turn: calls.opened<StoredTurn>(turn) }) };
}

/** Undefined for a view that cannot be opened: the write has happened, and the next read reports the reason. */
function openedView(calls: SealedCalls, view: Stored<SessionView>): SessionView | undefined {
  try {
    return calls.opened<SessionView>(view);
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      return undefined;
    }
    throw error;
  }
}

/** Whole sessions, opened on their way out and sealed with a key of their own on their way in. */
function sealedCopies(copies: Stored<SessionCopies>, callsOf: CallsOf): WithTexts<SessionCopies> {
  return {
    read: (session) => callsOf(session).readTexts<WholeState | undefined>((caller) => copies.read(caller)),
    create: (session, request) =>
      callsOf(session).create((caller, key) =>
        copies.create(caller, {
          ...request,
          pages: () => sealedPages(key, request.pages()),
          finish: async (next) => {
            const state = await request.finish(next);
            return state && sealedState(key, state);
          },
        }),
      ),
    // Its texts are sealed under another key already.
    replace: (session, request) =>
      callsOf(session).read((caller) => copies.replace(caller, request as unknown as Stored<ReplaceRequest>)),
  };
}

/** The texts of a state, sealed. */
export function sealedTexts(
  key: SessionKey | undefined,
  { head, label, side }: Pick<KeptState, "head" | "label" | "side">,
): Stored<Pick<KeptState, "head" | "label" | "side">> {
  return { head: sealHead(key, head), label: sealLabel(key, label), side: sealFields(key, side) };
}

function sealedState(key: SessionKey | undefined, state: NewState): Stored<NewState> {
  const { knownIds } = state;
  return {
    ...state,
    ...sealedTexts(key, state),
    // Their digests cannot be made again: the messages are gone.
    ...(key && knownIds && { knownIds: knownIds.map((id) => ({ ...id, digest: anyDigest })) }),
  };
}

async function* sealedPages(
  key: SessionKey | undefined,
  pages: AsyncIterable<CopyPage>,
): AsyncGenerator<Stored<CopyPage>> {
  for await (const { records, turns } of pages) {
    yield { records: records.map((copied) => sealedCopy(key, copied)), turns };
  }
}

/** A record of a copy, sealed; without a key, as it is. */
export function sealedCopy(key: SessionKey | undefined, { record, identity }: CopiedRecord): Stored<CopiedRecord> {
  return key === undefined
    ? { record: unsealed(record), identity }
    : {
        record: sealRecord(key, record, identity?.id ?? ""),
        identity: identity && { ...identity, digest: key.digest(identity.digest) },
      };
}

/**
 * Lists of sessions whose titles and metadata are encrypted, each under its session's key; owners are not. A list
 * leaves sealed what cannot be opened, and leaves out what is plain and refused; all other methods throw.
 */
function sealedLists(inner: Stored<SessionLists>, callsOf: CallsOf): WithTexts<SessionLists> {
  const opened = async (session: Stored<SessionSummary>, owner: string | undefined): Promise<SessionSummary> => {
    const { key, ...summary } = session;
    const calls = callsOf({ id: summary.sessionId, ...(owner !== undefined && { owner }) });
    await calls.learn(key);
    return calls.opened<Omit<SessionSummary, "key">>(summary);
  };
  // One session whose key is missing must not hide the others: its texts stay sealed.
  const openedOrSealed = (session: Stored<SessionSummary>, owner: string): Promise<SessionSummary> =>
    opened(session, owner).catch((error: unknown) => {
      if (EncryptionError.isInstance(error)) {
        const label = error.code === "plain_text" ? {} : (session.label as unknown as SessionLabel);
        return { ...session, label };
      }
      throw error;
    });
  return {
    list: async (owner, request) => {
      const page = await inner.list(owner, request);
      return { ...page, sessions: await Promise.all(page.sessions.map((summary) => openedOrSealed(summary, owner))) };
    },
    describe: async ({ label: _, ...session }) => {
      const details = await inner.describe(session);
      return details && ((await opened(details, session.owner)) as SessionDetails);
    },
    relabel: (session, request) =>
      callsOf(session).write(
        (caller, key) => inner.relabel(caller, { ...request, label: sealLabel(key, request.label) }),
        (outcome) => outcome === "changed",
      ),
  };
}
