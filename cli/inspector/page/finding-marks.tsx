import type { Findings } from "../model/data.js";
import type { Selection } from "./shown-moment.js";

/** Findings of the structure rules at a message, one a line. */
export function FindingMarks({ findings, at }: { findings: Findings | undefined; at: Selection }) {
  const here = (findings?.findings ?? []).filter((row) => isAt(row, at));
  if (here.length === 0) {
    return null;
  }
  return (
    <ul class="finding-marks">
      {here.map(({ rule, severity, message }, index) => (
        <li key={index} class={`finding finding-${severity}`}>
          <strong>
            {severity === "error" ? "Error" : "Warning"} {rule}
          </strong>{" "}
          {message}
        </li>
      ))}
    </ul>
  );
}

/** True if a finding or a repair is at this message. */
export function isAt(row: Selection, { position, place }: Selection): boolean {
  return position === undefined ? row.place === place && place !== undefined : row.position === position;
}
