import type { KeyRing } from "./keys/key-ring.js";
import { sealField } from "./keys/field.js";
import { parseSealed } from "./keys/header.js";
import type { SessionKey } from "./keys/session-key.js";
import { EncryptionError } from "../base/errors.js";
import type { AppendRequest, AppendResult, NewRecord } from "../store/session-writes.js";
import type { SessionView } from "../store/session-reads.js";
import type { SessionRef } from "../store/session-ref.js";
import type { SideChanges } from "../store/side-fields.js";
import type { WriterKeys } from "../store/writer-keys.js";
import { sealRecord } from "./record.js";
import { sealLabel } from "./lists.js";
import { SessionOpener } from "./session-opener.js";

/** Name of a side field, apart from what a store keeps about the session. */
export function sideField(name: string): string {
  return `side:${name}`;
}

/** A session as the store underneath is told of it: with the keys of the ring. */
type SealedCaller = SessionRef & { readonly keys: WriterKeys };

/** A session that is written to under the keys of a ring. */
export class SealedWrites {
  readonly opener: SessionOpener;
  readonly #ring: KeyRing;

  constructor(
    ring: KeyRing,
    readonly session: SessionRef,
  ) {
    this.opener = new SessionOpener(ring, session.id);
    this.#ring = ring;
  }

  /**
   * Sends a write of the session with the keys of the ring, and with its label sealed. Where the session needs keys
   * that are not at hand, gets them and sends it again.
   *
   * @throws EncryptionError if the ring lacks one of them.
   */
  async send<Result>(write: (caller: SealedCaller, key: SessionKey | undefined) => Promise<Result>): Promise<Result> {
    const { id, label } = this.session;
    const key = await this.#ring.current(id);
    for (;;) {
      const known = this.#ring.known(id).map(({ tag }) => tag);
      const keys = { known, ...(key && { current: key.tag }) };
      const caller = { ...this.session, keys, ...(label && { label: sealLabel(key, label) }) };
      try {
        return await write(caller, key);
      } catch (error) {
        const needed = EncryptionError.isInstance(error) ? error.keys : [];
        await this.opener.admit(needed);
        if (needed.every((name) => known.includes(name))) {
          throw error;
        }
      }
    }
  }

  /**
   * Seals an append and sends it. Where ids are stored under other digests, those of the stored records' keys are
   * taken and it is sent again, so that a repetition is one also after a change of keys.
   */
  async append<Result extends AppendResult | "stale", Request extends AppendRequest>(
    request: Request,
    send: (caller: SessionRef, sealed: Request) => Promise<Result>,
  ): Promise<Result> {
    const result = await this.send(async (caller, key) => {
      const side = sealSide(key, request.side);
      const records = request.records.map((record) => sealNew(key, record));
      const sealed = { ...request, ...(side && { side }), records };
      const first = await send({ ...caller, keys: { ...caller.keys, compare: true } }, sealed);
      if (first === "stale" || first.differing === undefined) {
        return first;
      }
      const digests = await this.#digests(request.records, first.differing);
      return send(caller, { ...sealed, records: records.map((record, i) => ({ ...record, ...digests[i] })) });
    });
    return result === "stale" ? result : ((await this.#openedResult(result)) as Result);
  }

  /** The read with its records decrypted. */
  async opened<Read extends { readonly records: readonly string[] }>(read: Read): Promise<Read> {
    return { ...read, records: await this.opener.records(read.records) };
  }

  /** For records whose id is stored under another digest, the one that the stored record's key makes. */
  async #digests(
    records: readonly NewRecord[],
    differing: NonNullable<AppendResult["differing"]>,
  ): Promise<({ readonly digest: string } | undefined)[]> {
    const keys = new Map<string, SessionKey | undefined>();
    for (const { index, record, digest } of differing) {
      const { id, digest: own } = records[index]!;
      if (record === undefined) {
        // The record was discarded, and its key id with it: one of the session's keys made the stored digest.
        keys.set(
          id,
          this.#ring.known(this.session.id).find((key) => key.digest(own) === digest),
        );
        continue;
      }
      const keyId = parseSealed(record)?.header.sealed;
      keys.set(id, keyId === undefined ? undefined : await this.opener.key(keyId));
    }
    return records.map(({ id, digest }) =>
      keys.has(id) ? { digest: keys.get(id)?.digest(digest) ?? digest } : undefined,
    );
  }

  async #openedResult(result: AppendResult): Promise<AppendResult> {
    const { view, turn } = result;
    if (view === undefined && turn === undefined) {
      return result;
    }
    const { view: _, ...written } = result;
    const opened = view && (await this.#openedView(view));
    return {
      ...written,
      ...(opened && { view: opened }),
      ...(turn && { turn: { ...turn, records: await this.opener.records(turn.records) } }),
    };
  }

  /** Undefined for a view that cannot be opened: the write has happened, and the next read reports the reason. */
  async #openedView(view: SessionView): Promise<SessionView | undefined> {
    try {
      return await this.opener.view(view);
    } catch (error) {
      if (EncryptionError.isInstance(error)) {
        return undefined;
      }
      throw error;
    }
  }
}

/** Side changes with sealed values. */
export function sealSide<Changes extends SideChanges>(
  key: SessionKey | undefined,
  side: Changes | undefined,
): Changes | undefined {
  if (key === undefined || side?.set === undefined) {
    return side;
  }
  const set = Object.entries(side.set).map(([name, value]) => [name, sealedValue(key, name, value)]);
  return { ...side, set: Object.fromEntries(set) as Record<string, string> };
}

function sealedValue(key: SessionKey, name: string, value: unknown): unknown {
  return typeof value === "string" ? sealField(key, sideField(name), value) : value;
}

/** A record to append, sealed; the store refuses one that is no record. */
function sealNew(key: SessionKey | undefined, record: NewRecord): NewRecord {
  const isText = [record?.id, record?.record].every((part: unknown) => typeof part === "string");
  const isRecord = isText && /^[\w-]{8}$/.test(record.digest);
  return key === undefined || !isRecord
    ? record
    : { ...record, digest: key.digest(record.digest), record: sealRecord(key, record.record, record.id) };
}
