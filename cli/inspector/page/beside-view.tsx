import { useEffect, useMemo, useState } from "preact/hooks";
import { counted, storedWords, whole } from "../model/figures-in-words.js";
import type { ModelFact } from "../model/facts-of-models.js";
import { hashOf } from "./address.js";
import { Conversation } from "./conversation.js";
import { type Fact, FactList } from "./fact-list.js";
import { useChanges, useLiveEvents } from "./hooks.js";
import { RawTexts } from "./markdown-text.js";
import { SessionModel } from "./session-model.js";
import { useShownMoment, type Selection } from "./shown-moment.js";
import { TimeSlider } from "./time-slider.js";

interface BesideViewProps {
  readonly left: SessionModel;
  /** Id of the other session. */
  readonly beside: string;
  readonly models: readonly ModelFact[];
}

/** Two sessions side by side, each with its own time; on a narrow screen one under the other. */
export function BesideView({ left, beside, models }: BesideViewProps) {
  const right = useMemo(() => new SessionModel(beside), [beside]);
  useEffect(() => void right.refresh(), [right]);
  useLiveEvents(beside, { onSession: () => void right.refresh() });
  const [isRaw, setRaw] = useState(false);
  return (
    <RawTexts value={isRaw}>
      <div class="heading-actions beside-actions">
        <button type="button" class="button" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          Texts as stored
        </button>
        <a class="button" href={hashOf({ kind: "session", id: left.sessionId })}>
          Close the right one
        </a>
        <a class="button" href={hashOf({ kind: "session", id: beside })}>
          Close the left one
        </a>
      </div>
      <div class="beside">
        {[left, right].map((model, index) => (
          <SessionColumn key={`${index} ${model.sessionId}`} model={model} models={models} />
        ))}
      </div>
    </RawTexts>
  );
}

/** One of the two: its figures, its time, its conversation. */
function SessionColumn({ model, models }: { model: SessionModel; models: readonly ModelFact[] }) {
  useChanges(model);
  const [chosen, setChosen] = useState<number>();
  const [selection, setSelection] = useState<Selection>({});
  const moment = useShownMoment(model, { chosen, models });
  const name = moment?.session.title ?? model.sessionId;
  return (
    <section class="column" aria-label={name}>
      <h1 dir="auto">{name}</h1>
      {model.problem !== undefined && (
        <p class="problem" role="alert">
          {model.problem}
        </p>
      )}
      {moment === undefined ? (
        model.problem === undefined && <p role="status">Reading messages…</p>
      ) : (
        <>
          <ColumnFigures moment={moment} />
          <TimeSlider moment={moment} isTrying={false} onChoose={setChosen} />
          <Conversation
            {...{ model, moment, selection, whatIf: undefined, budget: undefined }}
            onSelect={setSelection}
          />
        </>
      )}
    </section>
  );
}

function ColumnFigures({ moment }: { moment: NonNullable<ReturnType<typeof useShownMoment>> }) {
  const { session, view, usage } = moment;
  const { sessionId, title, owner, reductionCount, damage } = session;
  const facts: readonly Fact[] = [
    ["Id", title === undefined ? undefined : sessionId],
    ["Owner", owner],
    ["Stored", storedWords(session)],
    ["View", `${counted(view.messages, "message")}, ${counted(view.tokens, "token")}`],
    ["Reductions", whole(reductionCount)],
    ["Answers took", usage.total && `${counted(usage.total.input, "token")} in, ${whole(usage.total.output)} out`],
    ["Damage", damage],
  ];
  return <FactList facts={facts} />;
}
