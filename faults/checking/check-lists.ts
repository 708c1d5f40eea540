import type { Call } from "../journal/read-journals.js";
import { isTouched, windowsOfSlot, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { isWrite, mayBeRemoved, sessionCase, type FinalSession } from "./session-case.js";

/** The sessions in the list of an owner, in its order. */
export interface OwnerList {
  readonly owner: string;
  readonly sessions: readonly string[];
}

/** What is known of the sessions that the lists should hold. */
export interface ListsCase {
  readonly sessions: readonly FinalSession[];
  readonly callsOf: (session: string) => readonly Call[];
  readonly windows: readonly FailoverWindow[];
}

/**
 * Checks the lists of owners after all was over: each session of which a write for its owner was acknowledged stands in
 * that list, and none twice. A rewind leaves a session in its list; a clear ends it.
 */
export function checkLists(lists: readonly OwnerList[], { sessions, callsOf, windows }: ListsCase): Finding[] {
  const twice = lists.flatMap(({ owner, sessions: listed }) =>
    [...new Set(listed.filter((id, index) => listed.indexOf(id) !== index))].map((id) =>
      wrong(id, `the list of ${owner} holds it twice`),
    ),
  );
  const byOwner = new Map(lists.map(({ owner, sessions: listed }) => [owner, new Set(listed)]));
  const missing = sessions.flatMap((final) => {
    const calls = callsOf(final.id);
    const touching = windowsOfSlot(windows, final.slot);
    const clears = sessionCase(final, { calls: calls.filter(({ do: deed }) => deed === "clear"), windows }).removals;
    const claim = calls.find(
      (call) =>
        call.ok &&
        call.owner !== undefined &&
        isWrite(call) &&
        !mayBeRemoved(clears, call.asked, Infinity) &&
        !isTouched(touching, call.asked, Infinity),
    );
    const owner = claim?.owner;
    const isListed = owner === undefined || byOwner.get(owner)?.has(final.id) === true;
    return isListed ? [] : [wrong(final.id, `the list of ${owner} lacks it, though a write was acknowledged`)];
  });
  return [...twice, ...missing];
}

function wrong(session: string, says: string): Finding {
  return { figure: "wrongLists", session, amount: 1, says };
}
