import { readLog } from "../../store/contract/session-data.js";
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

/**
 * Pages of a log, each of about a megabyte, from a position up to an end. Ends early where records were removed, or are
 * of another log: after a failover others may have gone on with an older one.
 */
export async function* logPages(
  store: PagedStore,
  session: SessionRef,
  { from, end }: { readonly from: number; readonly end: number },
): AsyncGenerator<readonly string[]> {
  let [limit, last]: [number, string | undefined] = [firstRecords, undefined];
  for (let position = from; position < end;) {
    // The last record of the page before is read again.
    const overlap = last === undefined ? 0 : 1;
    const first = position - overlap;
    const page = await readLog(store, session, { from: first, limit: Math.min(limit + overlap, end - first) });
    const records = page.records.slice(overlap);
    if (page.from !== first || records.length === 0 || (overlap === 1 && page.records[0] !== last)) {
      return;
    }
    yield records;
    [limit, last] = [nextLimit(records), records.at(-1)];
    position += records.length;
  }
}
