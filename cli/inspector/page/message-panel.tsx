import { counted, secondOf } from "../model/figures-in-words.js";
import type { ShownMessage } from "../model/data.js";
import { type Fact, FactList } from "./fact-list.js";
import { isAt } from "./finding-marks.js";
import { FoldedJson } from "./json-text.js";
import { roleWords } from "./role-words.js";
import type { SessionModel } from "./session-model.js";
import type { SidePanelProps } from "./side-panel.js";

/** The chosen message: whether the model sees it, why not, and what is kept with it. */
export function MessagePanel(props: SidePanelProps) {
  const { model, moment, selection } = props;
  const { position, place } = selection;
  if (position === undefined && (place === undefined || moment.session.head[place] === undefined)) {
    return <p class="quiet">Choose a message: here it says whether the model still sees it, and why.</p>;
  }
  const message = position === undefined ? moment.session.head[place!]?.message : model.messageAt(position);
  return (
    <>
      {position === undefined ? <HeadReason {...props} place={place!} /> : <Reason {...props} position={position} />}
      <Repairs {...props} />
      {message !== undefined && (
        <Facts key={`${position} ${place}`} model={model} message={message} name={`details ${position} ${place}`} />
      )}
    </>
  );
}

function Reason({ moment, position, onSelect }: SidePanelProps & { readonly position: number }) {
  const { outline, base, seen, session } = moment;
  const entry = outline[position - base];
  if (entry === undefined) {
    return <p>Message {position} is no longer stored.</p>;
  }
  const { state, headline, reasons, summary } = seen.why(position, entry.role);
  const text = summary === undefined ? undefined : session.head[summary]?.message.parts[0];
  return (
    <section class={`why why-${state}`} aria-live="polite" aria-label="Why">
      <p class="quiet">
        Message {position}, {roleWords[entry.role]}
      </p>
      <h2>{headline}</h2>
      {reasons.map((reason) => (
        <p key={reason}>{reason}</p>
      ))}
      {text?.kind === "text" && <blockquote dir="auto">{text.text.slice(0, 500)}</blockquote>}
      {summary !== undefined && (
        <button type="button" class="button" onClick={() => onSelect({ place: summary })}>
          Show the summary
        </button>
      )}
    </section>
  );
}

function HeadReason({ moment: { session }, place }: SidePanelProps & { readonly place: number }) {
  const summary = session.summaries.find((each) => each.place === place);
  const covers = summary?.count === undefined ? "earlier messages" : counted(summary.count, "earlier message");
  return (
    <section class="why why-front" aria-live="polite" aria-label="Why">
      <h2>The model sees this message.</h2>
      <p>
        {summary === undefined
          ? "A reducer put it at the front of the view, where it stays while what followed it has left."
          : `It is a summary. The model reads it in place of ${covers}${rangeWords(summary)}.`}
      </p>
    </section>
  );
}

function rangeWords({ first, last }: { readonly first?: number; readonly last?: number }): string {
  return first === undefined || last === undefined ? "" : `, from message ${first} to message ${last}`;
}

function Repairs({ model, selection }: SidePanelProps) {
  const repairs = model.findings?.repairs.filter((row) => isAt(row, selection)) ?? [];
  return repairs.length === 0 ? null : (
    <section>
      <h2 class="small">What a repair would do</h2>
      <ul>
        {repairs.map(({ rule, action, message }, index) => (
          <li key={index}>
            <strong>{rule}</strong>, {action}: {message}
          </li>
        ))}
      </ul>
    </section>
  );
}

interface FactsProps {
  readonly model: SessionModel;
  readonly message: ShownMessage;
  /** Unique in the session. */
  readonly name: string;
}

function Facts({ model, message, name }: FactsProps) {
  const { id, at, tokens, answers, status, type, details } = message;
  const facts: readonly Fact[] = [
    ["Id", id],
    ["Type", type],
    ["Stored", at === undefined ? undefined : `${secondOf(at)} (UTC)`],
    ["Tokens", `${counted(tokens, "token")} of o200k_base`],
    ["Answers call", answers],
    ["Status", status],
  ];
  return (
    <section>
      <h2 class="small">What is stored</h2>
      <FactList facts={facts} />
      {details !== undefined && (
        <div class="details">
          <FoldedJson model={model} name={name} text={details} />
        </div>
      )}
    </section>
  );
}
