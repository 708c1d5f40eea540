import type { BaseMessage } from "@langchain/core/messages";
import { decodeRecord } from "../../../src/store/codec/decode-record.js";
import { unknownKey } from "../../../src/store/contract/refusals.js";
import { EncryptionError, MemoryError } from "../../../src/base/errors.js";
import type { StoredPage } from "../../../src/store/contract/session-data.js";
import { breather, rememberTokens } from "../../../src/conversation/tokens/counted-messages.js";
import type { Server } from "../../server.js";

/** A record of the log: its message, or why it cannot be read. */
export interface LogItem {
  readonly position: number;
  readonly record: string;
  readonly message: BaseMessage | undefined;
  readonly problem: string | undefined;
  /** Its stored tokens, by the name of the count. */
  readonly counts: Readonly<Record<string, number>>;
}

/** Records that were read together, and the state that came with them. */
export interface LogChunk {
  readonly page: StoredPage;
  readonly items: readonly LogItem[];
}

/** A chunk holds about this many characters, unless a single record is larger. */
const chunkLength = 1_000_000;
const mostRecords = 500;

/**
 * The records from one position up to another, chunk by chunk. Between records other work runs, and no chunk is large,
 * however long the messages are.
 *
 * @throws EncryptionError for a session whose key is not at hand.
 */
export async function* readLog(
  { store }: Pick<Server, "store">,
  sessionId: string,
  { from, to = Infinity }: { readonly from: number; readonly to?: number },
): AsyncGenerator<LogChunk> {
  const breathe = breather();
  let [position, limit] = [from, 20];
  while (position < to) {
    const page = await readPart(store, sessionId, { from: position, limit: Math.min(limit, to - position) });
    const items: LogItem[] = [];
    let length = 0;
    for (const [index, record] of page.records.entries()) {
      items.push(readItem(sessionId, record, page.from + index));
      length += record.length;
      await breathe();
    }
    yield { page, items };
    if (page.records.length === 0 || page.to >= page.next) {
      return;
    }
    position = page.to;
    const average = length / page.records.length;
    limit = Math.max(1, Math.min(mostRecords, 4 * limit, Math.floor(chunkLength / Math.max(1, average))));
  }
}

/** A few records from a position on, with the state of the session. */
export async function readPart(
  store: Server["store"],
  sessionId: string,
  { from, limit }: { readonly from: number; readonly limit: number },
): Promise<StoredPage> {
  // Only a page around a message that is not there is undefined.
  return (await store.data.readPage({ id: sessionId }, { after: from - 1, limit }))!;
}

/** A record as it is read. @throws EncryptionError */
export function readItem(sessionId: string, record: string, position: number | undefined): LogItem {
  const place = { position: position ?? -1, record };
  try {
    const { message, tokens } = decodeRecord(record, position);
    Object.entries(tokens).forEach(([counter, count]) => rememberTokens(message, counter, count));
    return { ...place, message, problem: undefined, counts: tokens };
  } catch (error) {
    if (EncryptionError.isInstance(error)) {
      throw unknownKey(sessionId, error.keyId);
    }
    if (!MemoryError.isInstance(error)) {
      throw error;
    }
    return { ...place, message: undefined, problem: error.message, counts: {} };
  }
}
