import { counted } from "../model/figures-in-words.js";
import type { FindingRow, Findings, RepairRow } from "../model/data.js";
import { isAt } from "./finding-marks.js";
import type { SidePanelProps } from "./side-panel.js";
import type { Selection } from "./shown-moment.js";

const mostShown = 200;

/** Parts of the view that a provider would refuse, and their repairs. */
export function FindingsPanel({ model, onSelect }: SidePanelProps) {
  const { findings, findingsProblem } = model;
  if (findings === undefined) {
    return <p role="status">{findingsProblem ?? "Applying the rules…"}</p>;
  }
  return (
    <>
      <label class="field">
        <span>Rules of</span>
        <select value={findings.profile} onChange={(event) => void model.choose(event.currentTarget.value)}>
          {findings.profiles.map((profile) => (
            <option key={profile}>{profile}</option>
          ))}
        </select>
      </label>
      <p role="status">{findingsProblem ?? summaryOf(findings)}</p>
      <ol class="findings">
        {findings.findings.slice(0, mostShown).map((row, index) => (
          <FindingItem key={index} row={row} repairs={findings.repairs} onSelect={onSelect} />
        ))}
      </ol>
      <OtherRepairs findings={findings} onSelect={onSelect} />
    </>
  );
}

function summaryOf({ findings, hidden }: Findings): string {
  const errors = findings.filter(({ severity }) => severity === "error").length;
  const more = hidden.length === 0 ? "" : ` ${counted(hidden.length, "tool result")} without call are hidden.`;
  if (findings.length === 0) {
    return `The view keeps all of these rules.${more}`;
  }
  const warnings = counted(findings.length - errors, "warning");
  return `${counted(errors, "error")} and ${warnings} in the view. What goes to a model is repaired on its way.${more}`;
}

interface FindingItemProps {
  readonly row: FindingRow;
  readonly repairs: readonly RepairRow[];
  readonly onSelect: (selection: Selection) => void;
}

function FindingItem({ row, repairs, onSelect }: FindingItemProps) {
  const { rule, severity, sentence, message } = row;
  const here = repairs.filter((repair) => repair.rule === rule && isAt(repair, row));
  return (
    <li class={`finding finding-${severity}`}>
      <p>
        <strong>
          {severity === "error" ? "Error" : "Warning"} {rule}
        </strong>{" "}
        {message}
      </p>
      <p class="quiet">{sentence}</p>
      {here.map((repair, index) => (
        <p key={index}>
          A repair: {repair.action}. {repair.message}
        </p>
      ))}
      <PlaceButton row={row} onSelect={onSelect} />
    </li>
  );
}

/** Repairs at other messages than the finding that they are for. */
function OtherRepairs({ findings, onSelect }: { findings: Findings; onSelect: (selection: Selection) => void }) {
  const others = findings.repairs.filter((repair) => {
    return !findings.findings.some((row) => row.rule === repair.rule && isAt(repair, row));
  });
  return others.length === 0 ? null : (
    <section>
      <h2 class="small">A repair would also</h2>
      <ul class="findings">
        {others.slice(0, mostShown).map((repair, index) => (
          <li key={index} class="finding">
            <p>
              <strong>{repair.rule}</strong>, {repair.action}: {repair.message}
            </p>
            <PlaceButton row={repair} onSelect={onSelect} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function PlaceButton({ row, onSelect }: { row: Selection; onSelect: (selection: Selection) => void }) {
  const { position, place } = row;
  if (position === undefined && place === undefined) {
    return null;
  }
  const selection = position === undefined ? { place: place! } : { position };
  const words = position === undefined ? "Show it at the front of the view" : `Show message ${position}`;
  return (
    <button type="button" class="fold" onClick={() => onSelect(selection)}>
      {words}
    </button>
  );
}
