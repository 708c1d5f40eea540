import { planReplaceTail } from "../store/append-decision.js";
import type { RecordSwap, SessionEdits, SwapPass, SwapRequest } from "../store/edits.js";
import { randomToken } from "../base/ids.js";
import { checkRewind, type SizeLimits } from "../store/request-checks.js";
import type { SessionRef } from "../store/session-ref.js";
import type { AppendResult, IdentifyRecord, ReplaceTailRequest, RewindRequest } from "../store/session-writes.js";
import { keyNames, withKey } from "../store/writer-keys.js";
import { appendTo } from "./append.js";
import { reidentify, rewindTo, type InMemorySession } from "./session.js";
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
    checkRewind(session, request);
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
      const stored = this.#sessions.writable("rebuild", session, ["erased"]);
      if (stored !== undefined) {
        reidentify(stored, identify);
        stored.ownership.owner ??= session.owner;
        this.#sessions.keep(session.id, stored, undefined);
      }
    });
  }

  async beginSwaps(session: SessionRef): Promise<SwapPass | undefined> {
    return this.#sessions.call("beginSwaps", session, () => {
      const stored = this.#sessions.writable("beginSwaps", session, ["key"]);
      if (stored === undefined) {
        return undefined;
      }
      stored.key = `${withKey(keyNames(stored.key).join(" "), session.keys?.current)} *${randomToken()}`;
      const side = [...stored.side].map(([name, text]) => [sidePrefix + name, text]);
      const head = stored.head === "" ? [] : [["head", stored.head]];
      const fields = Object.fromEntries([...head, ...side]) as Record<string, string>;
      return { epoch: stored.epoch, mark: stored.key, fields };
    });
  }

  async swapRecords(session: SessionRef, { epoch, records, fields = [] }: SwapRequest): Promise<number> {
    return this.#sessions.call("swapRecords", session, () => {
      const stored = this.#sessions.find(session);
      if (stored?.epoch !== epoch) {
        return 0;
      }
      const swapped = records.filter((swap) => swapRecord(stored, swap)).length;
      return swapped + fields.filter((swap) => swapField(stored, swap)).length;
    });
  }

  async finishSwaps(session: SessionRef, { epoch, mark }: SwapPass, key: string): Promise<boolean> {
    return this.#sessions.call("finishSwaps", session, () => {
      const stored = this.#sessions.find(session);
      if (stored?.epoch !== epoch || stored.key !== mark) {
        return false;
      }
      stored.key = key;
      return true;
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
  if (name === "head" && session.head === was) {
    session.head = text;
    return true;
  }
  const side = name.startsWith(sidePrefix) ? name.slice(sidePrefix.length) : undefined;
  if (side === undefined || session.side.get(side) !== was) {
    return false;
  }
  session.side.set(side, text);
  return true;
}
