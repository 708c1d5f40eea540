import { readLog } from "../../store/contract/session-pages.js";
import type { SessionRef } from "../../store/contract/session-ref.js";

/** Records of the first page, of which nobody knows how large they are. */
export const firstRecords = 100;
const mostRecords = 500;
const pageBytes = 1_000_000;

/** Records of the next page, so that it is about a megabyte. */
export function nextLimit(records: readonly string[]): number {
  const bytes = records.reduce((sum, record) => sum + record.length, 0);
  return Math.min(mostRecords, Math.max(1, Math.floor((pageBytes * records.length) / Math.max(1, bytes))));
}

type PagedStore = Parameters<typeof readLog>[0];

/** Reads a log page by page, each of about a megabyte. */
export class LogReader {
  readonly #store: PagedStore;
  readonly #session: SessionRef;
  #limit = firstRecords;

  constructor(store: PagedStore, session: SessionRef) {
    this.#store = store;
    this.#session = session;
  }

  /** The next records from a position up to an end; undefined if the log no longer has that position. */
  async read(from: number, end: number): Promise<readonly string[] | undefined> {
    const page = await readLog(this.#store, this.#session, { from, limit: Math.min(this.#limit, end - from) });
    const { records } = page;
    if (page.from !== from || records.length === 0) {
      return undefined;
    }
    this.#limit = nextLimit(records);
    return records;
  }
}
