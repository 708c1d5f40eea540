import { tokenText } from "../journal/runs.js";
import { isTouched } from "./failover-windows.js";
import type { Finding } from "./finding.js";
import type { SessionCase } from "./session-case.js";

/**
 * Checks that of the turns that held their session, none stands inside another: also what a process wrote after it had
 * been stopped for longer than it held the session would stand there.
 */
export function checkHeldTurns({ final, turns, positions, windows }: SessionCase): Finding[] {
  const held = [...turns.values()]
    .filter(({ calls }) => calls.some((call) => call.held === true && !isTouched(windows, call.asked, Infinity)))
    .flatMap(({ turn, count }) => {
      const places = Array.from({ length: count }, (_, index) => positions.get(tokenText({ turn, index })));
      const stored = places.filter((place) => place !== undefined);
      return stored.length === 0 ? [] : [{ turn, first: Math.min(...stored), last: Math.max(...stored) }];
    })
    .sort((a, b) => a.first - b.first);
  return held.flatMap(({ turn, first }, index) => {
    const before = held[index - 1];
    const says = `turn ${turn} stands inside turn ${before?.turn}, though both held the session`;
    const isInside = before !== undefined && first < before.last;
    return isInside ? [{ figure: "mixedTurns", session: final.id, amount: 1, says } as const] : [];
  });
}
