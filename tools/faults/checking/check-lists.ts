import type { Call } from "../journal/read-journals.js";
import { isTouched, windowsOfSlot, type FailoverWindow } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { isWrite, mayBeRemoved, sessionCase, type FinalSession } from "./session-case.js";

/** The sessions in the list of an owner, in its order. */
export interface OwnerList {
  readonly owner: string;
  readonly sessions: readonly string[];
}

/** The sessions that the lists should hold. */
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
    const ends = calls.filter(({ do: deed }) => deed === "clear" || deed === "erase");
    const clears = sessionCase(final, { calls: ends, windows }).removals;
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
  const walks = sessions.flatMap(({ id }) => callsOf(id).filter((call) => call.do === "list" && call.ok));
  return [...twice, ...missing, ...walks.flatMap((walk) => walked(walk, callsOf, windows))];
}

/**
 * Checks a client's walk through an owner's list: no session twice, and none that nobody wrote for this owner. The
 * next page may come from a replica that took over with an older list, in which a session stands further back.
 */
function walked(walk: Call, callsOf: ListsCase["callsOf"], windows: readonly FailoverWindow[]): Finding[] {
  const { session = "", owner, asked, told, answer } = walk;
  const listed = answer.listed ?? [];
  const isFailover = isTouched(windows, asked, told);
  const twice = isFailover ? [] : listed.filter((id, index) => listed.indexOf(id) !== index);
  const others = listed.filter((id) => {
    const calls = callsOf(id.split(".copy.")[0]!);
    return !calls.some((call) => isWrite(call) && call.owner === owner && call.asked < told);
  });
  return [
    ...twice.map((id) => wrong(session, `a walk through the list of ${owner} showed ${id} twice`)),
    ...others.map((id) => wrong(session, `the list of ${owner} showed ${id}, which is not of this owner`)),
  ];
}

function wrong(session: string, says: string): Finding {
  return { figure: "wrongLists", session, amount: 1, says };
}
