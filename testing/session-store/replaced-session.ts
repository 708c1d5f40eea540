import type { ReplaceRequest, WholeState } from "../../src/store/contract/session-data.js";
import type { NewRecord } from "../../src/store/contract/session-writes.js";

/** The state of a session of which nothing could be read. */
export const unreadState: WholeState = {
  ...{ epoch: "", cut: "", base: 0, start: 0, next: 0, messages: 0, head: "", headCount: 0 },
  ...{ rounds: 0, reductions: [], reduced: 0, label: {}, hasLabel: false, side: {}, damaged: false, isSealed: false },
};

/** A copy of records, without turns, that takes the place of the session as it was read. */
export function replacing(
  was: WholeState,
  {
    records = [],
    ...request
  }: Partial<Omit<ReplaceRequest, "pages">> & { readonly records?: readonly NewRecord[] } = {},
): ReplaceRequest {
  const copied = records.map((each) => ({ record: each.record, identity: each }));
  async function* pages() {
    yield { records: copied, turns: [] };
  }
  return { ...{ was, now: was, key: undefined, openTurns: new Set(), pages }, ...request };
}
