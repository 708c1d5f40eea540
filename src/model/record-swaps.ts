import { randomToken } from "../store/random-token.js";
import type { RecordSwap, RecordSwaps, SwapPass, SwapRequest } from "../store/record-swaps.js";
import type { SessionRef } from "../store/session-ref.js";
import { keyNames, withKey } from "../store/writer-keys.js";
import type { InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

const sidePrefix = "side:";

/** Replaces stored texts in a store in memory. */
export class InMemoryRecordSwaps implements RecordSwaps {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async begin(session: SessionRef): Promise<SwapPass | undefined> {
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

  async swap(session: SessionRef, { epoch, records, fields = [] }: SwapRequest): Promise<number> {
    return this.#sessions.call("swapRecords", session, () => {
      const stored = this.#sessions.find(session);
      if (stored?.epoch !== epoch) {
        return 0;
      }
      const swapped = records.filter((swap) => swapRecord(stored, swap)).length;
      return swapped + fields.filter((swap) => swapField(stored, swap)).length;
    });
  }

  async finish(session: SessionRef, { epoch, mark }: SwapPass, key: string): Promise<boolean> {
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
