import { randomToken } from "../store/random-token.js";
import type { RecordSwap, RecordSwaps, SwapPass, SwapRequest } from "../store/record-swaps.js";
import { refuseUnlessKnown } from "../store/refusals.js";
import { keyNames, withKey, type WriterKeys } from "../store/writer-keys.js";
import type { InMemorySession } from "./session.js";
import type { InMemorySessions } from "./sessions.js";

const sidePrefix = "side:";

/** Replaces stored texts in a store in memory. */
export class InMemoryRecordSwaps implements RecordSwaps {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async begin(sessionId: string, keys: WriterKeys): Promise<SwapPass | undefined> {
    return this.#sessions.call("beginSwaps", sessionId, () => {
      const session = this.#sessions.find(sessionId);
      if (session === undefined) {
        return undefined;
      }
      refuseUnlessKnown(sessionId, session.key, keys);
      session.key = `${withKey(keyNames(session.key).join(" "), keys.current)} *${randomToken()}`;
      const side = [...session.side].map(([name, text]) => [sidePrefix + name, text]);
      const head = session.head === "" ? [] : [["head", session.head]];
      const fields = Object.fromEntries([...head, ...side]) as Record<string, string>;
      return { epoch: session.epoch, mark: session.key, fields };
    });
  }

  async swap(sessionId: string, { epoch, records, fields = [] }: SwapRequest): Promise<number> {
    return this.#sessions.call("swapRecords", sessionId, () => {
      const session = this.#sessions.find(sessionId);
      if (session?.epoch !== epoch) {
        return 0;
      }
      const swapped = records.filter((swap) => swapRecord(session, swap)).length;
      return swapped + fields.filter((swap) => swapField(session, swap)).length;
    });
  }

  async finish(sessionId: string, { epoch, mark }: SwapPass, key: string): Promise<boolean> {
    return this.#sessions.call("finishSwaps", sessionId, () => {
      const session = this.#sessions.find(sessionId);
      if (session?.epoch !== epoch || session.key !== mark) {
        return false;
      }
      session.key = key;
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
