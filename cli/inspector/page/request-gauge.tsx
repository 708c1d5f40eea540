import { counted, whole } from "../model/figures-in-words.js";
import type { WindowGauge } from "../model/data.js";

interface RequestGaugeProps {
  readonly gauge: WindowGauge | undefined;
  /** False while an earlier moment is shown, of which this is not known. */
  readonly isNow: boolean;
}

/** The part of the model's window that the session's next request takes: fixed parts, view, and the rest. */
export function RequestGauge({ gauge, isNow }: RequestGaugeProps) {
  if (gauge === undefined || !isNow) {
    return null;
  }
  const { tokens, window } = gauge;
  return (
    <section class="gauge" aria-label="The next request">
      <strong>{headOf(gauge)}</strong> {partsOf(gauge)}{" "}
      <span class={window !== undefined && tokens > (gauge.room ?? window) ? "gauge-over" : undefined}>
        {roomOf(gauge)}
      </span>
    </section>
  );
}

function headOf({ model, fixed, isCut }: WindowGauge): string {
  return fixed === undefined || isCut === true ? `The newest request to ${model}` : `The next request to ${model}`;
}

function partsOf({ tokens, fixed, isCut }: WindowGauge): string {
  if (fixed === undefined) {
    const why = isCut === true ? "The view was cut since." : "Its parts are not known.";
    return `took ${counted(tokens, "token")}, as the provider counted. ${why}`;
  }
  const parts = `${whole(fixed)} fixed (system prompt, tools) + ${whole(tokens - fixed)} view`;
  return `takes ${parts} = ${counted(tokens, "token")}, before its question.`;
}

function roomOf({ tokens, window, room = window, model }: WindowGauge): string {
  if (window === undefined || room === undefined) {
    return `The window of ${model} is not known. Start the inspector with --window "${model}=TOKENS".`;
  }
  const left = tokens > room ? `${whole(tokens - room)} too many` : `${whole(room - tokens)} left`;
  const least = `${counted(room, "token")} for a request`;
  return `Of a window of ${counted(window, "token")}, ${least} (the rest is for the answer, and a margin): ${left}.`;
}
