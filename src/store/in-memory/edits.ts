import { planReplaceTail } from "../contract/append-decision.js";
import type { RecordSwap, SessionEdits, SessionKeyState, SwapRequest } from "../contract/edits.js";
import type { SizeLimits } from "../contract/request-checks.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { AppendResult, IdentifyRecord, ReplaceTailRequest, RewindRequest } from "../contract/session-writes.js";
import type { StoredKey } from "../contract/writer-keys.js";
import { appendTo } from "./append.js";
import { noteKey, reidentify, rewindTo, type InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

const sidePrefix = "side:";

/** Changes of stored records of sessions in memory. */
export class InMemoryEdits implements SessionEdits {
  readonly #sessions: InMemorySessions;
  readonly #limits: SizeLimits;

  constructor(sessions: InMemorySessions, limits: SizeLimits) {
    this.#sessions = sessions;
    this.#limits = limits;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(session, request, this.#limits);
    return this.#sessions.call("replaceTail", session, () => appendTo(this.#sessions, { session, request, plan }));
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    return this.#sessions.call("rewind", session, () => {
      const stored = this.#sessions.writable("rewind", session);
      const outcome = rewindTo(stored, request);
      if (outcome === "ended") {
        this.#sessions.delete(session.id);
      } else if (outcome === "rewound") {
        this.#sessions.keep(session.id, stored, undefined);
      }
      return outcome === "stale" ? "stale" : "rewound";
    });
  }

  async rebuild(session: SessionRef, identify: IdentifyRecord): Promise<void> {
    return this.#sessions.call("rebuild", session, () => {
      const stored = this.#sessions.writable("rebuild", session, ["erased", "key"]);
      if (stored !== undefined) {
        reidentify(stored, identify);
        stored.ownership.owner ??= session.owner;
        this.#sessions.keep(session.id, stored, undefined);
      }
    });
  }

  async readKey(session: SessionRef): Promise<SessionKeyState | undefined> {
    return this.#sessions.call("readKey", session, () => {
      const stored = this.#sessions.find(session);
      return stored && { epoch: stored.epoch, stored: stored.key };
    });
  }

  async rewrapKey(session: SessionRef, { was, now }: { readonly was: StoredKey; readonly now: StoredKey }) {
    return this.#sessions.call("rewrapKey", session, () => {
      const stored = this.#sessions.find(session);
      const isSame = stored?.key?.key === was.key && stored.key.dek === was.dek;
      if (isSame) {
        stored.key = now;
      }
      return isSame;
    });
  }

  async swapRecords(session: SessionRef, { epoch, records, fields = [] }: SwapRequest): Promise<number> {
    return this.#sessions.call("swapRecords", session, () => {
      const stored = this.#sessions.writable("swapRecords", session, ["key"]);
      if (stored?.epoch !== epoch) {
        return 0;
      }
      noteKey(stored, session);
      const swapped = records.filter((swap) => swapRecord(stored, swap)).length;
      return swapped + fields.filter((swap) => swapField(stored, swap)).length;
    });
  }
}

function swapRecord(session: InMemorySession, { position, was, text, identity }: RecordSwap): boolean {
  const index = position - session.base;
  if (index < 0 || session.log[index] !== was) {
    return false;
  }
  session.log[index] = text;
  if (identity !== undefined && session.ids.get(identity.id)?.position === position) {
    session.ids.set(identity.id, { digest: identity.digest, position });
  }
  return true;
}

function swapField(
  session: InMemorySession,
  { name, was, text }: { name: string; was: string; text: string },
): boolean {
  const { side, ownership } = session;
  if (name === "head" && session.head === was) {
    session.head = text;
    return true;
  }
  if ((name === "title" || name === "metadata") && ownership.label[name] === was) {
    ownership.label = { ...ownership.label, [name]: text };
    return true;
  }
  const field = name.startsWith(sidePrefix) ? name.slice(sidePrefix.length) : undefined;
  if (field === undefined || side.get(field) !== was) {
    return false;
  }
  side.set(field, text);
  return true;
}
