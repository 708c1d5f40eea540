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

/** A message's content as text; pictures and recordings only where the message holds them. */
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

/** A picture, a player, or the description of what cannot be shown. */
function MediaPart({ what, text, url }: Extract<ShownPart, { kind: "media" }>) {
  if (what === "image" && url !== undefined) {
    return <img class="image" src={url} alt="Image in this message" />;
  }
  return (
    <p class="address">
      <span class="tag">{what}</span> <bdi>{text}</bdi>
      {what === "audio" && url !== undefined && <audio class="player" controls preload="none" src={url} />}
      {what === "video" && url !== undefined && <video class="player" controls preload="none" src={url} />}
    </p>
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
    case "media":
      return <MediaPart {...part} />;
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
