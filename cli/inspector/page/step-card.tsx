import { counted, secondOf, whole } from "../model/figures-in-words.js";
import type { ShownCall, ShownMessage } from "../model/data.js";
import type { ConversationProps } from "./conversation.js";
import { FindingMarks } from "./finding-marks.js";
import { LongJson } from "./json-text.js";
import { LongText } from "./long-text.js";
import { Card, PrefixBreak, RoleName, TokenBar, WhatIfMark } from "./message-card.js";
import { MessageParts } from "./message-parts.js";
import { useKept } from "./hooks.js";
import type { SessionModel } from "./session-model.js";
import { isSeenIn } from "./shown-moment.js";

type StepProps = ConversationProps & { readonly position: number; readonly results: readonly number[] };

/** A message that calls tools, with their results: folded at first; calls of one message are next to each other. */
export function StepCard(props: StepProps) {
  const { model, moment, position, results, budget, whatIf } = props;
  const [isOpen, setOpen] = useKept(model, `step ${position}`, false);
  const entry = moment.outline[position - moment.base]!;
  const { state, label } = moment.seen.why(position, entry.role);
  const all = [position, ...results];
  const tokens = all.reduce((sum, at) => sum + (moment.outline[at - moment.base]?.tokens ?? 0), 0);
  const message = model.messageAt(position);
  return (
    <Card state={state} role={entry.role} otherwise={whatIf && isSeenIn(whatIf, position)}>
      <header class="card-top">
        <RoleName entry={entry} message={message} />
        <span class="quiet">
          {results.length === 0 ? position : `${position} to ${results.at(-1)}`}
          {entry.at !== undefined && ` · ${secondOf(entry.at)}`}
        </span>
        <TokenBar tokens={tokens} moment={moment} budget={budget} />
        <span class={`state state-${state}`}>{label}</span>
        {whatIf && <WhatIfMark seen={isSeenIn(whatIf, position)} />}
      </header>
      <PrefixBreak entry={entry} />
      {all.map((at) => (
        <FindingMarks key={at} findings={model.findings} at={{ position: at }} />
      ))}
      {message !== undefined && <MessageParts model={model} message={message} place={{ position }} />}
      <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {stepWords(entry.calls ?? [], results.length)}
      </button>
      {isOpen && <StepCalls {...props} message={message} />}
    </Card>
  );
}

function stepWords(calls: readonly string[], results: number): string {
  const names = calls.length > 3 ? `${calls.slice(0, 3).join(", ")} and ${calls.length - 3} more` : calls.join(", ");
  const open = results < calls.length ? `, ${whole(results)} answered` : "";
  return `${counted(calls.length, "tool call")}: ${names}${open}`;
}

function StepCalls({ model, results, message }: StepProps & { readonly message: ShownMessage | undefined }) {
  if (message === undefined) {
    return <p class="quiet">…</p>;
  }
  const answers = results.flatMap((position) => model.messageAt(position) ?? []);
  const answered = new Set(message.calls.map(({ id }) => id));
  const others = answers.filter(({ answers: id }) => !answered.has(id));
  return (
    <div class="calls">
      {message.calls.map((call, index) => (
        <CallCard
          key={index}
          model={model}
          message={message}
          call={call}
          index={index}
          results={answers.filter((at) => at.answers === call.id)}
        />
      ))}
      {others.map((result) => (
        <ResultText key={result.position} model={model} result={result} />
      ))}
    </div>
  );
}

interface CallCardProps {
  readonly model: SessionModel;
  readonly message: ShownMessage;
  readonly call: ShownCall;
  readonly index: number;
  readonly results: readonly ShownMessage[];
}

function CallCard({ model, message, call, index, results }: CallCardProps) {
  const { args: text, length } = call;
  const args = { model, text, length, source: { position: message.position ?? 0, of: "call", index } } as const;
  return (
    <div class="call" role="group" aria-label={`Call ${index + 1}, ${call.name}`}>
      <p class="call-name">
        <bdi>{call.name}</bdi>
        {!call.readable && <span class="state state-left">arguments are no object</span>}
      </p>
      {call.readable ? <LongJson {...args} /> : <LongText {...args} isCode={true} />}
      {results.length === 0 ? (
        <p class="quiet">No result next to it.</p>
      ) : (
        results.map((result) => <ResultText key={result.position} model={model} result={result} />)
      )}
    </div>
  );
}

function ResultText({ model, result }: { model: SessionModel; result: ShownMessage }) {
  const { position = 0, status, tokens } = result;
  return (
    <div class="result">
      <p class="quiet">
        Result, message {position}, {counted(tokens, "token")}
        {status === "error" && <strong> failed</strong>}
      </p>
      <MessageParts model={model} message={result} place={{ position }} />
    </div>
  );
}
