import { useEffect, useState } from "preact/hooks";
import { counted, whole } from "../model/figures-in-words.js";
import type { SimulationRow, WhatIf } from "../model/data.js";
import { useAddressed } from "./address.js";
import { getJson } from "./api-client.js";
import { NumberField } from "./number-field.js";
import { choiceForm, reducerKinds, specOf, type ReducerChoice } from "./reducer-choice.js";
import type { SidePanelProps } from "./side-panel.js";

const pauseMs = 250;

/** Another reducer on this conversation: where it would cut, and what it would cost. */
export function WhatIfPanel({ model, moment, whatIf, onWhatIf }: SidePanelProps) {
  const [choice, setChoice] = useAddressed(choiceForm);
  const [said, setSaid] = useState<string>();
  const spec = specOf(choice);
  const { edition, next } = moment.session;
  useEffect(() => {
    let isLast = true;
    const ask = async () => {
      setSaid("Replaying the conversation…");
      const answer = await getJson<WhatIf>("what-if", { id: model.sessionId, reducer: spec }).catch(String);
      if (isLast) {
        onWhatIf(typeof answer === "string" ? undefined : answer);
        setSaid(typeof answer === "string" ? answer.replace(/^RequestError: (?:--reducer )?/, "") : undefined);
      }
    };
    // While somebody types a number, not every digit of it is tried.
    const timer = setTimeout(() => void ask(), pauseMs);
    return () => {
      isLast = false;
      clearTimeout(timer);
    };
  }, [spec, edition, next]);
  useEffect(() => () => onWhatIf(undefined), []);
  return (
    <>
      <ReducerFields choice={choice} onChoice={setChoice} />
      <p role="status">{said ?? (whatIf === undefined ? "" : cutWords(whatIf))}</p>
      {whatIf !== undefined && <Comparison whatIf={whatIf} />}
    </>
  );
}

function ReducerFields({ choice, onChoice }: { choice: ReducerChoice; onChoice: (choice: ReducerChoice) => void }) {
  const kind = reducerKinds[choice.kind];
  return (
    <div class="reducer">
      <label class="field">
        <span>Reducer</span>
        <select
          value={choice.kind}
          onChange={({ currentTarget: { value } }) => {
            const chosen = value as ReducerChoice["kind"];
            onChoice({ kind: chosen, ...reducerKinds[chosen].defaults });
          }}
        >
          {Object.entries(reducerKinds).map(([name, { words }]) => (
            <option key={name} value={name}>
              {words}
            </option>
          ))}
        </select>
      </label>
      {kind.first !== undefined && (
        <NumberField words={kind.first} value={choice.first} onValue={(first) => onChoice({ ...choice, first })} />
      )}
      {kind.second !== undefined && (
        <NumberField words={kind.second} value={choice.second} onValue={(second) => onChoice({ ...choice, second })} />
      )}
    </div>
  );
}

function cutWords({ cuts, seen }: WhatIf): string {
  const left = seen.reduce((sum, [first, last]) => sum + last + 1 - first, 0);
  if (cuts.length === 0) {
    return "This reducer would never have cut this conversation.";
  }
  const { before, from, to } = cuts.at(-1)!;
  const last = `the last before message ${before}, from ${counted(from, "message")} to ${whole(to)}`;
  return `${counted(cuts.length, "cut")}, ${last}. Now ${counted(left, "stored message")} would be in the view.`;
}

const lines: readonly (readonly [words: string, value: (row: SimulationRow) => string])[] = [
  ["Tokens sent", ({ sent }) => whole(sent)],
  ["… of which cached", ({ cached }) => whole(cached)],
  ["Billed", ({ billed }) => whole(billed)],
  ["Reductions", ({ reductions }) => whole(reductions)],
  ["Broken prefixes", ({ prefixBreaks }) => whole(prefixBreaks)],
  ["User messages seen", ({ questionsSeen }) => percent(questionsSeen)],
  ["Tool results seen", ({ toolResultsSeen }) => percent(toolResultsSeen)],
];

function Comparison({ whatIf: { today, candidate } }: { whatIf: WhatIf }) {
  return (
    <>
      <table>
        <caption>{counted(candidate.requests, "request")} to the model</caption>
        <thead>
          <tr>
            <th scope="col">Over the conversation</th>
            <th scope="col">Today</th>
            <th scope="col">{candidate.reducer}</th>
          </tr>
        </thead>
        <tbody>
          {lines.map(([words, valueOf]) => (
            <tr key={words}>
              <th scope="row">{words}</th>
              <td>{valueOf(today)}</td>
              <td>{valueOf(candidate)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet">
        Today: with the reductions that the session remembers, but without the calls that wrote its summaries, because
        what these were sent is not stored. The calls of a reducer that you try are counted, each with a summary of 300
        tokens; no model is called. Billed: in tokens at full price, where a cached one costs a tenth.
      </p>
    </>
  );
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share === 1 ? 0 : 1)} %`;
}
