import { counted, secondOf } from "../model/figures-in-words.js";
import type { WhatIf } from "../model/data.js";
import type { ShownMoment } from "./shown-moment.js";

/** A stretch of the session whose messages left the view together, or are in it. */
interface Stretch {
  readonly from: number;
  readonly to: number;
  readonly kind: "left" | "summarized" | "view";
  readonly words: string;
}

interface OverviewBandProps {
  readonly moment: ShownMoment;
  readonly whatIf: WhatIf | undefined;
  readonly onJump: (position: number) => void;
}

/** The whole session from top to bottom: what is in the view, and what left it at which reduction. */
export function OverviewBand({ moment, whatIf, onJump }: OverviewBandProps) {
  const stretches = stretchesOf(moment);
  return (
    <div class="overview" role="group" aria-label="Overview of the session">
      {stretches.map(({ from, to, kind, words }) => (
        <button
          key={from}
          type="button"
          class={`stretch stretch-${kind}`}
          style={{ flexGrow: to - from }}
          title={words}
          aria-label={words}
          onClick={() => onJump(kind === "view" ? to - 1 : from)}
        />
      ))}
      {whatIf && <WhatIfBand moment={moment} whatIf={whatIf} />}
    </div>
  );
}

function stretchesOf({ cuts, base, end, seen, outline, session }: ShownMoment): Stretch[] {
  const made = cuts.filter(({ next }) => next <= end);
  const stretches: Stretch[] = [];
  let from = base;
  for (const { number, start, at, before, after } of made) {
    const to = Math.min(start, end);
    if (to > from) {
      const middle = Math.floor((from + to) / 2);
      const isSummarized = seen.stateOf(middle, outline[middle - base]?.role ?? "human") === "summarized";
      const sizes = `${counted(before.messages, "message")} were cut to ${after.messages}`;
      const words = `Messages ${from} to ${to - 1} left the view at reduction ${number}, ${secondOf(at)}: ${sizes}`;
      const kind = isSummarized ? "summarized" : "left";
      stretches.push({ from, to, kind, words: isSummarized ? `${words}. A summary covers them` : words });
      from = to;
    }
  }
  if (end > from) {
    const isNow = end >= session.next;
    const words = `Messages ${from} to ${end - 1} ${isNow ? "are" : "were"} in the view`;
    stretches.push({ from, to: end, kind: "view", words });
  }
  return stretches;
}

/** The ranges that a tried reducer would keep, beside the band. */
function WhatIfBand({ moment: { base, end }, whatIf }: { moment: ShownMoment; whatIf: WhatIf }) {
  const length = Math.max(1, end - base);
  return (
    <div class="what-if-band" aria-hidden="true">
      {whatIf.seen.map(([first, last]) => (
        <span
          key={first}
          style={{ top: `${(100 * (first - base)) / length}%`, height: `${(100 * (last + 1 - first)) / length}%` }}
        />
      ))}
    </div>
  );
}
