import type { ShownMoment } from "./shown-moment.js";

interface LegendProps {
  readonly moment: ShownMoment;
  readonly isTrying: boolean;
}

/** A legend of the colours and patterns of the overview and of the messages' bands: those that are on the page. */
export function Legend({ moment: { cuts, session }, isTrying }: LegendProps) {
  const marks: readonly (readonly [mark: string, words: string, isShown: boolean])[] = [
    ["stretch stretch-view", "in the view", true],
    ["stretch stretch-left", "left the view", cuts.length > 0],
    ["stretch stretch-summarized", "left the view, and a summary covers it", session.summaries.length > 0],
    ["legend-cut", "a reduction", cuts.length > 0],
    ["legend-try", "seen with the reducer that you try", isTrying],
  ];
  return (
    <ul class="legend" aria-label="What the bands mean">
      {marks
        .filter(([, , isShown]) => isShown)
        .map(([mark, words]) => (
          <li key={mark}>
            <span class={mark} aria-hidden="true" />
            {words}
          </li>
        ))}
    </ul>
  );
}
