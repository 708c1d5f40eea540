import type { LogPage, SessionView, StoredRounds } from "./session-reads.js";

/** The view of a session that does not exist. */
export function emptyView(): SessionView {
  const numbers = { base: 0, start: 0, next: 0, headCount: 0 };
  return { epoch: "", rev: "", ...numbers, head: "", tokens: undefined, counter: "", records: [], damaged: false };
}

/** The rounds of a session that does not exist. */
export function emptyRounds(): StoredRounds {
  return { records: [], from: 0, firstRound: 1, damaged: false };
}

/** The log of a session that does not exist. */
export function emptyPage(): LogPage {
  return { records: [], from: 0, base: 0, next: 0, damaged: false };
}
