import type { ShownMessage, ShownPart } from "../model/data.js";
import { LongJson } from "./json-text.js";
import { LongText } from "./long-text.js";
import type { SessionModel } from "./session-model.js";
import type { Selection } from "./shown-moment.js";

interface MessagePartsProps {
  readonly model: SessionModel;
  readonly message: ShownMessage;
  readonly place: Selection;
}

/** A message's content as text; images only where the message holds them. */
export function MessageParts({ model, message, place }: MessagePartsProps) {
  const { parts, problem, calls } = message;
  return (
    <div class="parts">
      {problem !== undefined && <p class="problem">{problem}</p>}
      {parts.length === 0 && calls.length === 0 && problem === undefined && <p class="quiet">No content.</p>}
      {parts.map((part, index) => (
        <Part key={index} model={model} part={part} index={index} place={place} isTold={message.role !== "tool"} />
      ))}
    </div>
  );
}

interface PartProps {
  readonly model: SessionModel;
  readonly part: ShownPart;
  readonly index: number;
  readonly place: Selection;
  /** False for what a tool returned, which is shown as it is. */
  readonly isTold: boolean;
}

function Part({ model, part, index, place, isTold }: PartProps) {
  const source = { ...place, of: "part", index } as const;
  switch (part.kind) {
    case "image":
      return <img class="image" src={part.url} alt="Image in this message" />;
    case "address":
      return (
        <p class="address">
          <span class="tag">{part.what}, not loaded</span> <bdi>{part.text}</bdi>
        </p>
      );
    case "text":
      return <LongText model={model} text={part.text} length={part.length} source={source} isCode={!isTold} />;
    case "reasoning":
      return (
        <div class="reasoning">
          <span class="tag">reasoning</span>
          <LongText model={model} text={part.text} length={part.length} source={source} />
        </div>
      );
    case "json":
      return (
        <div>
          <span class="tag">{part.what}</span>
          <LongJson model={model} text={part.text} length={part.length} source={source} />
        </div>
      );
    case "other":
      return (
        <div>
          <span class="tag">{part.what}</span>
          <LongText model={model} text={part.text} length={part.length} source={source} isCode />
        </div>
      );
  }
}
