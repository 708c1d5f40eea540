import type {
  CopiedRecord,
  CopyPage,
  KeptState,
  NewState,
  ReplaceRequest,
  SessionCopies,
  WholeState,
} from "../contract/copies.js";
import { anyDigest } from "../contract/session-writes.js";
import type { Stored, WithTexts } from "../contract/stored-texts.js";
import type { SessionKey } from "./keys/session-key.js";
import { sealRecord } from "./record.js";
import { sealFields, sealHead, sealLabel, unsealed } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";

/** Whole sessions, opened on their way out and sealed with a key of their own on their way in. */
export function sealedCopies(copies: Stored<SessionCopies>, callsOf: CallsOf): WithTexts<SessionCopies> {
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
