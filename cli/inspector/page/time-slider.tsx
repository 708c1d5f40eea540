import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";
import { counted } from "../model/figures-in-words.js";
import { Legend } from "./legend.js";
import type { ShownMoment } from "./shown-moment.js";

interface TimeSliderProps {
  readonly moment: ShownMoment;
  /** Whether another reducer is tried. */
  readonly isTrying: boolean;
  /** Undefined for now. */
  readonly onChoose: (end: number | undefined) => void;
  /** More in its last line. */
  readonly children?: ComponentChildren;
}

/** The session's life: what did the model see when a message was written? */
export function TimeSlider({ moment, isTrying, onChoose, children }: TimeSliderProps) {
  const id = useId();
  const { session, end, base, cuts, view } = moment;
  const { next } = session;
  const choose = (value: number) => onChoose(value >= next ? undefined : Math.max(base, value));
  const made = cuts.filter((cut) => cut.next <= end).length;
  return (
    <div class="time">
      <label for={id}>{end >= next ? "Now" : `When message ${end} was written`}</label>
      <button type="button" class="step" aria-label="One message earlier" onClick={() => choose(end - 1)}>
        ‹
      </button>
      <div class="time-track">
        <input
          id={id}
          type="range"
          min={base}
          max={next}
          step={1}
          value={end}
          aria-valuetext={`${end >= next ? "now" : `message ${end}`}: ${counted(view.messages, "message")} in the view`}
          onInput={(event) => choose(Number(event.currentTarget.value))}
        />
        <CutMarks moment={moment} />
      </div>
      <button type="button" class="step" aria-label="One message later" onClick={() => choose(end + 1)}>
        ›
      </button>
      <button type="button" class="button" disabled={end >= next} onClick={() => onChoose(undefined)}>
        Now
      </button>
      <p class="quiet time-note">
        {counted(made, "reduction")} by then
        {session.reductionCount > cuts.length && `; of ${session.reductionCount}, ${cuts.length} can be shown`}
      </p>
      <Legend moment={moment} isTrying={isTrying} />
      {children}
    </div>
  );
}

/** A mark for each reduction on the slider. */
function CutMarks({ moment: { cuts, base, session } }: { moment: ShownMoment }) {
  const length = Math.max(1, session.next - base);
  return (
    <div class="time-marks" aria-hidden="true">
      {cuts.map(({ number, next }) => (
        <span key={number} style={{ left: `${(100 * (next - base)) / length}%` }} />
      ))}
    </div>
  );
}
