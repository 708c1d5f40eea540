import type { CopiedRecord, CopyPage, KeptState, NewState, SessionCopies, WholeState } from "../contract/copies.js";
import { anyDigest } from "../contract/session-writes.js";
import { passedOn } from "../contract/groups.js";
import type { SessionKey } from "./keys/session-key.js";
import { openLabel } from "./lists.js";
import { sealRecord } from "./record.js";
import { headField, sealLabel, sealSideFields, sealField, type SealedCalls } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";

/** Whole sessions, opened on their way out and sealed with a key of their own on their way in. */
export function sealedCopies(copies: SessionCopies, callsOf: CallsOf): SessionCopies {
  return {
    ...passedOn(copies, ["readMarks", "replace"]),
    read: async (session) => {
      const calls = callsOf(session);
      const state = await calls.read((caller) => copies.read(caller));
      return state && openState(calls, state);
    },
    create: async (session, request) =>
      callsOf(session).create((caller, key) =>
        copies.create(caller, {
          ...request,
          pages: (from) => sealedPages(key, request.pages(from)),
          finish: async (next) => {
            const state = await request.finish(next);
            return state && sealedState(key, state);
          },
        }),
      ),
  };
}

/** A state with its texts decrypted. */
export async function openState(calls: SealedCalls, state: WholeState): Promise<WholeState> {
  const side = await calls.sideFields(state.side);
  const label = await openLabel(calls, state.label);
  return { ...state, label, head: await calls.field(headField, state.head), side };
}

/** A state with its texts sealed. */
export function sealedState<State extends NewState | KeptState>(key: SessionKey | undefined, state: State): State {
  if (key === undefined) {
    return state;
  }
  const { knownIds }: Partial<NewState> = state;
  return {
    ...state,
    head: state.head === "" ? "" : sealField(key, headField, state.head),
    label: sealLabel(key, state.label),
    side: sealSideFields(key, state.side),
    // Their digests cannot be made again: the messages are gone.
    ...(knownIds && { knownIds: knownIds.map((id) => ({ ...id, digest: anyDigest })) }),
  };
}

async function* sealedPages(key: SessionKey | undefined, pages: AsyncIterable<CopyPage>): AsyncGenerator<CopyPage> {
  for await (const { records, turns, before } of pages) {
    yield {
      records: records.map((copied) => sealedCopy(key, copied)),
      turns,
      before: before && sealedCopy(key, before),
    };
  }
}

/** A record of a copy, sealed; without a key, as it is. */
export function sealedCopy(key: SessionKey | undefined, copied: CopiedRecord): CopiedRecord {
  const { record, identity } = copied;
  if (key === undefined) {
    return copied;
  }
  return {
    record: sealRecord(key, record, identity?.id ?? ""),
    identity: identity && { ...identity, digest: key.digest(identity.digest) },
  };
}
