import { noRecords, planAppend, type SizeLimits } from "../contract/append-decision.js";
import type { SessionEdits, SessionKeyState } from "../contract/edits.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { AppendResult, IdentifyRecord, ReplaceTailRequest, RewindRequest } from "../contract/session-writes.js";
import type { StoredKey } from "../contract/writer-keys.js";
import { appendTo } from "./append.js";
import { reidentify } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

/** Changes of stored records of sessions in memory. */
export class InMemoryEdits implements SessionEdits {
  readonly #sessions: InMemorySessions;
  readonly #limits: SizeLimits;

  constructor(sessions: InMemorySessions, limits: SizeLimits) {
    this.#sessions = sessions;
    this.#limits = limits;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planAppend(session, request, this.#limits);
    return this.#sessions.call("replaceTail", session, () => appendTo(this.#sessions, { session, request, plan }));
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    const write = { session, request: { records: [], cut: request }, plan: noRecords };
    return this.#sessions.call("rewind", session, () =>
      appendTo(this.#sessions, write) === "stale" ? "stale" : "rewound",
    );
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
}
