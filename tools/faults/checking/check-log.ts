import { tokenText } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import { mayBeRemoved, type SessionCase, type TurnCalls } from "./session-case.js";

/** Compares the final log with what was acknowledged: nothing missing, nothing twice, whole turns, in order. */
export function checkLog(session: SessionCase): Finding[] {
  return [
    ...[...lost(session), ...doubled(session), ...torn(session)],
    ...[...reordered(session), ...broken(session), ...storedTooOften(session)],
  ];
}

function lost(session: SessionCase): Finding[] {
  const { final, turns, positions, removals, windows } = session;
  const oldest = oldestIn(session);
  return [...turns.values()].flatMap((turn) => {
    // A turn that takes the place of others is not removed by that.
    const others = removals.filter(({ by }) => by !== turn.turn);
    const acknowledged = turn.calls.filter(({ ok, asked, told }) => ok && !mayBeRemoved(others, asked, Infinity, told));
    const missing = turn.count - storedPositions(turn, positions).length;
    // Retention discards from the beginning only.
    const isDiscarded = (final.discarded ?? 0) > 0 && turn.asked <= oldest;
    if (acknowledged.length === 0 || missing === 0 || isDiscarded) {
      return [];
    }
    const isFailover = acknowledged.every(({ asked, told }) => isTouched(windows, asked, told));
    const figure = !isFailover ? "lost" : turn.waits ? "failoverLossWithWait" : "failoverLoss";
    const { told, door } = acknowledged[0]!;
    const says = `${missing} of ${turn.count} messages of turn ${turn.turn} (${door}), acknowledged at ${told}`;
    return [{ figure, session: final.id, amount: missing, says }] as const;
  });
}

function doubled({ final }: SessionCase): Finding[] {
  const counts = new Map<string, number>();
  for (const token of final.log) {
    const text = token && tokenText(token);
    counts.set(text ?? "", (counts.get(text ?? "") ?? 0) + 1);
  }
  counts.delete("");
  return [...counts]
    .filter(([, count]) => count > 1)
    .map(([text, count]) => {
      return {
        figure: "doubled",
        session: final.id,
        amount: count - 1,
        says: `${text} stands ${count} times`,
      } as const;
    });
}

/** Turns of which a part is there, or which other messages stand in. */
function torn(session: SessionCase): Finding[] {
  const { final, turns, positions, removals, windows } = session;
  const oldest = oldestIn(session);
  return [...turns.values()].flatMap((turn) => {
    // A failover between two steps may lose the first, as it may lose one of two turns.
    const isFailover = !turn.waits && turn.calls.some(({ asked, told }) => isTouched(windows, asked, told));
    const stored = storedPositions(turn, positions);
    // Retention discards the beginning of a turn, before the log; steps may have others in between. A session that was
    // rebuilt does not know how much that was.
    const isDiscarding = (final.discarded ?? 0) > 0 || final.wasRebuilt === true;
    const hasEnd = positions.has(tokenText({ turn: turn.turn, index: turn.count - 1 }));
    const isCut = isDiscarding && stored[0] === 0 && hasEnd;
    const isTogether = stored.every((position, index) => position === stored[0]! + index);
    const isWhole = turn.steps
      ? isInSteps(turn, positions, {
          isAnyPart: removals.length > 0 || isFailover,
          isCut: isDiscarding && turn.asked <= oldest,
        })
      : isTogether && (stored.length === turn.count || isCut);
    const says = `turn ${turn.turn} of ${turn.count} stands at ${stored.slice(0, 8).join(", ")}`;
    return stored.length === 0 || isWhole ? [] : [{ figure: "torn", session: final.id, amount: 1, says } as const];
  });
}

/** A turn that is written step by step may end early and have others inside; its order is kept. */
function isInSteps(
  { turn, count }: TurnCalls,
  positions: ReadonlyMap<string, number>,
  { isAnyPart, isCut }: { readonly isAnyPart: boolean; readonly isCut: boolean },
): boolean {
  const stored = Array.from({ length: count }, (_, index) => ({
    index,
    position: positions.get(tokenText({ turn, index })) ?? -1,
  })).filter(({ position }) => position >= 0);
  const isOrdered = stored.every(({ position }, at) => at === 0 || position > stored[at - 1]!.position);
  const isInRow = stored.every(({ index }, at) => index === stored[0]!.index + at);
  return isOrdered && (isAnyPart || (isInRow && (isCut || stored[0]?.index === 0)));
}

/**
 * When the first turn in the log was told: what was asked for only afterwards stands behind it. A call whose messages a
 * clear or a rewind may have removed does not count where a later one stored them again.
 */
function oldestIn({ final, turns, removals }: SessionCase): number {
  const first = final.log.find((token) => token !== undefined);
  const calls = (first && turns.get(first.turn)?.calls.filter(({ ok }) => ok)) ?? [];
  const kept = calls.filter(({ asked, told }) => !mayBeRemoved(removals, asked, Infinity, told));
  return Math.min(Infinity, ...kept.map(({ told }) => told));
}

/** Turns that stand after one that was asked for only when they were acknowledged already. */
function reordered({ final, turns, positions, removals, windows }: SessionCase): Finding[] {
  const placed = [...turns.values()]
    .flatMap((turn) => {
      const position = positions.get(tokenText({ turn: turn.turn, index: 0 }));
      const told = turn.calls
        .filter(
          ({ ok, asked }) => ok && !mayBeRemoved(removals, asked, Infinity) && !isTouched(windows, asked, Infinity),
        )
        .reduce((first, call) => Math.min(first, call.told), Infinity);
      return position === undefined ? [] : [{ turn, position, told }];
    })
    .sort((a, b) => b.position - a.position);
  let earliest = Infinity;
  return placed.flatMap(({ turn, told }) => {
    const isLate = earliest < turn.asked;
    earliest = Math.min(earliest, told);
    const says = `turn ${turn.turn} stands before one that was acknowledged before it was asked for`;
    return isLate ? [{ figure: "reordered", session: final.id, amount: 1, says } as const] : [];
  });
}

/** A session that its own keys do not describe. */
function broken({ final }: SessionCase): Finding[] {
  const says = [
    ...(final.damaged ? ["the session is damaged: its keys contradict each other"] : []),
    ...(new Set(final.expiries).size > 1 ? [`its keys expire at different times: ${final.expiries!.join(", ")}`] : []),
  ];
  return says.map((text) => ({ figure: "torn", session: final.id, amount: 1, says: text }) as const);
}

/** More records than were ever asked for: a turn that was discarded was stored again. */
function storedTooOften({ final, turns, positions, removals, windows }: SessionCase): Finding[] {
  const stored = final.log.length + (final.discarded ?? 0);
  const asked = [...turns.values()].reduce((sum, turn) => sum + turn.count + mostDoneAgain(turn, positions), 0);
  const isKnown = (final.discarded ?? 0) > 0 && removals.length === 0 && windows.length === 0;
  const says = `${stored} messages were stored, where ${asked} were asked for`;
  return isKnown && stored > asked ? [{ figure: "doubled", session: final.id, amount: stored - asked, says }] : [];
}

/**
 * Messages of a turn that may have been stored twice: a try that failed left its first steps, a reduction discarded all
 * of them, and the next try had nothing to go on with. It does not store the question again, which its id tells.
 */
function mostDoneAgain({ turn, count, steps, calls }: TurnCalls, positions: ReadonlyMap<string, number>): number {
  const firstTold = Math.min(Infinity, ...calls.flatMap(({ ok, asked }) => (ok ? [asked] : [])));
  const failed = calls.filter(({ ok, asked }) => !ok && asked < firstTold);
  return steps && !positions.has(tokenText({ turn, index: 0 })) ? failed.length * (count - 1) : 0;
}

function storedPositions({ turn, count }: TurnCalls, positions: ReadonlyMap<string, number>): number[] {
  return Array.from({ length: count }, (_, index) => positions.get(tokenText({ turn, index }))).filter(
    (position) => position !== undefined,
  );
}
