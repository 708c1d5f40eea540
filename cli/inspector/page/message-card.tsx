import type { ComponentChildren } from "preact";
import { counted, secondOf, whole } from "../model/figures-in-words.js";
import type { OutlineEntry, ShownMessage } from "../model/data.js";
import type { SeenState } from "../model/why-seen.js";
import type { ConversationProps } from "./conversation.js";
import { FindingMarks } from "./finding-marks.js";
import { MessageParts } from "./message-parts.js";
import { roleWords } from "./role-words.js";
import { isSeenIn, type ShownMoment } from "./shown-moment.js";

/** A message of the log. */
export function MessageCard(props: ConversationProps & { readonly position: number }) {
  const { model, moment, position, whatIf } = props;
  const entry = moment.outline[position - moment.base]!;
  const message = model.messageAt(position);
  const { state, label } = moment.seen.why(position, entry.role);
  return (
    <Card state={state} role={entry.role} otherwise={whatIf && isSeenIn(whatIf, position)}>
      <header class="card-top">
        <RoleName entry={entry} message={message} />
        <span class="quiet">
          {position}
          {entry.at !== undefined && ` · ${secondOf(entry.at)}`}
        </span>
        <TokenBar tokens={entry.tokens} moment={moment} budget={props.budget} />
        <span class={`state state-${state}`}>{label}</span>
        {whatIf && <WhatIfMark seen={isSeenIn(whatIf, position)} />}
      </header>
      <PrefixBreak entry={entry} />
      <FindingMarks findings={model.findings} at={{ position }} />
      {message === undefined ? (
        <p class="quiet">…</p>
      ) : (
        <MessageParts model={model} message={message} place={{ position }} />
      )}
    </Card>
  );
}

/** A message at the front of the view, before the log's part of it. */
export function HeadCard({ model, moment, place, budget, onSelect }: ConversationProps & { readonly place: number }) {
  const row = moment.session.head[place];
  if (row === undefined) {
    return null;
  }
  const { message, position, changed } = row;
  const summary = moment.session.summaries.find((each) => each.place === place);
  return (
    <Card state={changed === true ? "changed" : "front"} role={message.role} otherwise={undefined}>
      <header class="card-top">
        <RoleName entry={message} message={message} />
        <span class="quiet">at the front of the view</span>
        <TokenBar tokens={message.tokens} moment={moment} budget={budget} />
        <span class="state state-front">{changed === true ? "shortened" : "in the view"}</span>
      </header>
      <FindingMarks findings={model.findings} at={{ place }} />
      <MessageParts model={model} message={message} place={{ place }} />
      {summary?.last !== undefined && (
        <p class="card-links">
          <button type="button" onClick={() => onSelect({ position: summary.first ?? moment.base })}>
            Show the {summary.count === undefined ? "messages" : counted(summary.count, "message")} behind it
          </button>
        </p>
      )}
      {position !== undefined && (
        <p class="card-links">
          <button type="button" onClick={() => onSelect({ position })}>
            Show message {position} in its place
          </button>
        </p>
      )}
    </Card>
  );
}

interface CardProps {
  readonly state: SeenState;
  readonly role: OutlineEntry["role"];
  /** Whether a what-if shows it. */
  readonly otherwise: boolean | undefined;
  readonly children: ComponentChildren;
}

/** The frame of a message: its left side says what became of it, by colour and by pattern. */
export function Card({ state, role, otherwise, children }: CardProps) {
  const other = otherwise === undefined ? "" : otherwise ? " card-otherwise" : " card-otherwise-not";
  return <article class={`card card-${state} role-${role}${other}`}>{children}</article>;
}

/** A note at an answer in front of which another system prompt or other tools stood than before. */
export function PrefixBreak({ entry: { brokenBy } }: { entry: OutlineEntry }) {
  return brokenBy === undefined ? null : (
    <p class="note">
      The prefix broke here: {brokenBy === "system" ? "the system prompt" : "the list of tools"} is not the one of the
      answers above. Their thoughts are no longer sent.
    </p>
  );
}

/** Who speaks. */
export function RoleName({ entry, message }: { entry: Pick<OutlineEntry, "role">; message: ShownMessage | undefined }) {
  const { role } = entry;
  return (
    <p class={`role role-name-${role}`}>
      {roleWords[role]}
      {message?.name !== undefined && <bdi class="speaker"> {message.name}</bdi>}
      {role === "other" && message !== undefined && <bdi class="speaker"> {message.type}</bdi>}
    </p>
  );
}

/** Tokens as a number, and as a bar: against the budget, or else against the largest message. */
export function TokenBar(props: { tokens: number; moment: ShownMoment; budget: number | undefined }) {
  const { tokens, moment, budget } = props;
  const share = Math.min(1, tokens / (budget ?? moment.largest));
  const title = budget === undefined ? "" : `${whole((100 * tokens) / budget)} % of the budget`;
  return (
    <span class="tokens" title={title}>
      <span class="token-bar" aria-hidden="true">
        <span style={{ width: `${100 * share}%` }} />
      </span>
      {counted(tokens, "token")}
    </span>
  );
}

/** Whether the reducer that is tried would still show a message. */
export function WhatIfMark({ seen }: { seen: boolean }) {
  return (
    <span class={seen ? "state what-if-seen" : "state what-if-gone"}>{seen ? "what-if: seen" : "what-if: gone"}</span>
  );
}
