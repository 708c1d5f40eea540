import type { CopiedRecord, CopyPage, KeptState, NewState, SessionCopies, WholeState } from "../store/copies.js";
import { anyDigest } from "../store/session-writes.js";
import { passedOn } from "../store/groups.js";
import { checkSessionId, type SessionRef } from "../store/session-ref.js";
import type { SessionStore } from "../store/session-store.js";
import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/field.js";
import { parseSealed } from "./keys/header.js";
import type { SessionKey } from "./keys/session-key.js";
import { sealText } from "./beside.js";
import { openLabel, sealLabel } from "./lists.js";
import { sealRecord } from "./record.js";
import { sideField } from "./writes.js";
import { headField, SessionOpener } from "./session-opener.js";

/** Whole sessions, opened on their way out and sealed with the current key on their way in. */
export function sealedCopies(inner: SessionStore, copies: SessionCopies, ring: KeyRing): SessionCopies {
  return {
    ...passedOn("copies", copies),
    read: async (session) => {
      const state = await copies.read(session);
      if (state === undefined) {
        return undefined;
      }
      const opened = await openState(new SessionOpener(ring, session.id), state);
      const key = state.key ?? (state.damaged ? await keyOfLog(inner, session, state.base) : undefined);
      return { ...opened, ...(key && { key }) };
    },
    create: async (session, request) => {
      checkSessionId(session.id);
      const key = await ring.current(session.id);
      const caller = key === undefined ? session : { ...session, keys: { current: key.tag, known: [key.tag] } };
      return copies.create(caller, {
        ...request,
        // An attempt sealed with another key cannot be resumed.
        ...(request.tag !== undefined && key !== undefined && { tag: `${request.tag}-${key.tag.slice(-8)}` }),
        pages: (from) => sealedPages(key, request.pages(from)),
        finish: async (next) => {
          const state = await request.finish(next);
          return state && sealedState(key, state);
        },
      });
    },
  };
}

async function openState(opener: SessionOpener, state: WholeState): Promise<WholeState> {
  const side: [string, string][] = [];
  for (const [name, text] of Object.entries(state.side)) {
    side.push([name, await opener.field(sideField(name), text)]);
  }
  const label = await openLabel(opener, state.label);
  return { ...state, label, head: await opener.field(headField, state.head), side: Object.fromEntries(side) };
}

/** Key name of the first record, for a session that lost its list of keys. */
async function keyOfLog(
  store: Pick<SessionStore, "readLog">,
  session: SessionRef,
  from: number,
): Promise<string | undefined> {
  const { records } = await store.readLog(session, { from, limit: 1 });
  return records.map((record) => parseSealed(record)?.header.sealed)[0];
}

function sealedState<State extends NewState | KeptState>(key: SessionKey | undefined, state: State): State {
  if (key === undefined) {
    return state;
  }
  const side = Object.entries(state.side).map(([name, text]) => [name, sealText(key, sideField(name), text)]);
  const { discardedIds, knownIds }: Partial<NewState> = state;
  return {
    ...state,
    head: state.head === "" ? "" : sealField(key, headField, state.head),
    label: sealLabel(key, state.label),
    side: Object.fromEntries(side) as Record<string, string>,
    // Their digests cannot be made again: the messages are gone.
    ...(discardedIds && { discardedIds: discardedIds.map((id) => ({ ...id, digest: anyDigest })) }),
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

/** A record of a new session, sealed; what cannot be read stays as it is. */
function sealedCopy(key: SessionKey | undefined, copied: CopiedRecord): CopiedRecord {
  const { record, identity } = copied;
  if (key === undefined || identity === undefined) {
    return copied;
  }
  return {
    record: sealRecord(key, record, identity.id),
    identity: { ...identity, digest: key.digest(identity.digest) },
  };
}
