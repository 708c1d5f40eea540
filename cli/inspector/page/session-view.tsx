import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { whole } from "../model/figures-in-words.js";
import type { WhatIf } from "../model/data.js";
import type { ModelFact } from "../model/facts-of-models.js";
import { useAddressed } from "./address.js";
import { Conversation } from "./conversation.js";
import { FindBar } from "./find-bar.js";
import { LiveNews } from "./live-news.js";
import { RawTexts, rawForm } from "./markdown-text.js";
import { useChanges, useIsNarrow } from "./hooks.js";
import { RequestGauge } from "./request-gauge.js";
import { SessionHeading } from "./session-heading.js";
import type { SessionModel } from "./session-model.js";
import { momentForm, selectionForm, useShownMoment } from "./shown-moment.js";
import { SidePanel } from "./side-panel.js";
import { TimeSlider } from "./time-slider.js";

/** An open session: its figures, the time, the conversation, and what is to be said of the chosen message. */
export function SessionView({ model, models }: { model: SessionModel; models: readonly ModelFact[] }) {
  useChanges(model);
  const [chosen, setChosen] = useAddressed(momentForm);
  const [selection, setSelection] = useAddressed(selectionForm);
  const [isRaw, setRaw] = useAddressed(rawForm);
  const [whatIf, setWhatIf] = useState<WhatIf>();
  const [budget, setBudget] = useState<number>();
  const moment = useShownMoment(model, { chosen, models });
  if (moment === undefined) {
    return <Opening model={model} />;
  }
  const shownBudget = budget ?? moment.cuts.at(-1)?.maxTokens;
  return (
    <RawTexts value={isRaw}>
      <Controls title={moment.session.title ?? model.sessionId}>
        <SessionHeading {...{ moment, budget: shownBudget, isOwnBudget: budget !== undefined, onBudget: setBudget }}>
          <RawSwitch isRaw={isRaw} onRaw={setRaw} />
        </SessionHeading>
        <TimeSlider moment={moment} isTrying={whatIf !== undefined} onChoose={setChosen}>
          <FindBar moment={moment} selection={selection} onSelect={setSelection} />
        </TimeSlider>
        <RequestGauge gauge={model.gauge} isNow={moment.end >= moment.session.next} />
      </Controls>
      <Problems model={model} damage={moment.session.damage} />
      <div class="split">
        <Conversation {...{ model, moment, selection, whatIf, budget: shownBudget }} onSelect={setSelection} />
        <SidePanel
          {...{ model, moment, selection, whatIf, budget: shownBudget }}
          onSelect={setSelection}
          onWhatIf={setWhatIf}
        />
      </div>
      <LiveNews moment={moment} />
    </RawTexts>
  );
}

/** The part above the conversation; on a narrow screen folded, so that the conversation has the screen. */
function Controls({ title, children }: { title: string; children: ComponentChildren }) {
  return useIsNarrow() ? (
    <details class="controls">
      <summary>
        <h1 dir="auto">{title}</h1>
      </summary>
      {children}
    </details>
  ) : (
    <div class="controls">{children}</div>
  );
}

function Problems({ model: { problem }, damage }: { model: SessionModel; damage: string | undefined }) {
  const sentences = [damage && `Redis lost a part of this session: ${damage}.`, problem];
  return (
    <>
      {sentences.map(
        (sentence) =>
          sentence !== undefined && (
            <p key={sentence} class="problem" role="alert">
              {sentence}
            </p>
          ),
      )}
    </>
  );
}

function RawSwitch({ isRaw, onRaw }: { isRaw: boolean; onRaw: (isRaw: boolean) => void }) {
  return (
    <button type="button" class="button" aria-pressed={isRaw} onClick={() => onRaw(!isRaw)}>
      Texts as stored
    </button>
  );
}

function Opening({ model }: { model: SessionModel }) {
  const { problem, sessionId, outline } = model;
  if (problem !== undefined) {
    return (
      <div class="empty">
        <h1 dir="auto">{sessionId}</h1>
        <p class="problem" role="alert">
          {problem}
        </p>
      </div>
    );
  }
  return (
    <div class="empty">
      <h1 dir="auto">{sessionId}</h1>
      <p role="status">Reading messages{outline.length > 0 ? `: ${whole(outline.length)} so far` : ""}…</p>
    </div>
  );
}
