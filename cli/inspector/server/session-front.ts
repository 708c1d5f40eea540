import { decodeHead } from "../../../src/store/codec/stored-record.js";
import { RecordError } from "../../../src/base/errors.js";
import type { Server } from "../../server.js";
import { readItem, readPart, type LogItem } from "./log-reader.js";

/** The head of the view, and the position from which the view shows the log. */
export interface SessionFront {
  readonly items: readonly LogItem[];
  readonly start: number;
}

/**
 * Reads what stands in front of the view: two small reads, and the view only where there is something. Records that
 * cannot be read are left out.
 */
export async function readFront({ store }: Pick<Server, "store">, sessionId: string): Promise<SessionFront> {
  const [stats, page] = await Promise.all([
    store.data.readStats({ id: sessionId }),
    readPart(store, sessionId, { from: 0, limit: 1 }),
  ]);
  const { start, next } = page;
  if ((stats?.viewMessages ?? 0) <= next - start && page.head === "") {
    return { items: [], start };
  }
  const view = await store.readView({ id: sessionId });
  return { items: itemsOf(sessionId, view.head), start: view.start };
}

function itemsOf(sessionId: string, head: string): LogItem[] {
  try {
    return decodeHead(head).map((record) => readItem(sessionId, record, undefined));
  } catch (error) {
    if (RecordError.isInstance(error)) {
      return [];
    }
    throw error;
  }
}
