import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/sealed-field.js";
import { parseSealed } from "./keys/sealed-header.js";
import type { SessionKey } from "./keys/session-key.js";
import type { SessionStore } from "../store/session-store.js";
import { checkSessionId, type SessionRef } from "../store/session-ref.js";
import type {
  CreatedSession,
  CreateRequest,
  KeptState,
  SessionTransfers,
  TransferPage,
  WholeState,
} from "../store/session-transfers.js";
import type { TurnMark } from "../store/turns.js";
import { sealedCopy } from "./sealed-forks.js";
import { openLabel, sealLabel } from "./sealed-lists.js";
import { sealText } from "./sealed-beside.js";
import { sideField } from "./sealed-writes.js";
import { headField, SessionOpener } from "./session-opener.js";

/** Whole sessions, opened on their way out and sealed with the current key on their way in. */
export class SealedTransfers implements SessionTransfers {
  readonly #inner: SessionTransfers;
  readonly #reads: Pick<SessionStore, "readLog">;
  readonly #ring: KeyRing;

  constructor(inner: SessionTransfers, reads: Pick<SessionStore, "readLog">, ring: KeyRing) {
    this.#inner = inner;
    this.#reads = reads;
    this.#ring = ring;
  }

  async readState(session: SessionRef): Promise<WholeState | undefined> {
    const state = await this.#inner.readState(session);
    if (state === undefined) {
      return undefined;
    }
    const opener = new SessionOpener(this.#ring, session.id);
    const side: [string, string][] = [];
    for (const [name, text] of Object.entries(state.side)) {
      side.push([name, await opener.field(sideField(name), text)]);
    }
    const label = await openLabel(opener, state.label);
    const key = state.key ?? (state.damaged ? await this.#keyOfLog(session, state.base) : undefined);
    return {
      ...state,
      ...(key && { key }),
      label,
      head: await opener.field(headField, state.head),
      side: Object.fromEntries(side),
    };
  }

  /** Where Redis lost which keys a session needs, its first record tells. */
  async #keyOfLog(session: SessionRef, from: number): Promise<string | undefined> {
    const { records } = await this.#reads.readLog(session, { from, limit: 1 });
    return records.map((record) => parseSealed(record)?.header.sealed)[0];
  }

  readTurns(session: SessionRef, names: readonly string[]): Promise<readonly (TurnMark | undefined)[]> {
    return this.#inner.readTurns(session, names);
  }

  async create(session: SessionRef, { state, pages }: CreateRequest): Promise<CreatedSession> {
    checkSessionId(session.id);
    const key = await this.#ring.current(session.id);
    const caller = key === undefined ? session : { ...session, keys: { current: key.tag, known: [key.tag] } };
    return this.#inner.create(caller, { state: sealedState(key, state), pages: sealedPages(key, pages) });
  }
}

function sealedState(key: SessionKey | undefined, state: KeptState): KeptState {
  if (key === undefined) {
    return state;
  }
  const side = Object.entries(state.side).map(([name, text]) => [name, sealText(key, sideField(name), text)]);
  return {
    ...state,
    head: state.head === "" ? "" : sealField(key, headField, state.head),
    label: sealLabel(key, state.label),
    side: Object.fromEntries(side) as Record<string, string>,
  };
}

async function* sealedPages(key: SessionKey | undefined, pages: CreateRequest["pages"]): AsyncGenerator<TransferPage> {
  for await (const { records, marks } of pages) {
    yield { records: records.map((copied) => sealedCopy(key, copied)), marks };
  }
}
