import { useState } from "preact/hooks";
import { counted, whole } from "../model/figures-in-words.js";
import type { TextPiece } from "../model/data.js";
import { getJson } from "./api-client.js";
import { useKept } from "./hooks.js";
import type { SessionModel } from "./session-model.js";

/** Characters of a text that are shown before the reader unfolds it. */
const foldedLength = 700;
/** Characters of a text that come with its message. */
const sentLength = 4_000;

/** The address of a text. */
export interface TextSource {
  readonly position?: number;
  readonly place?: number;
  readonly of: "part" | "call";
  readonly index: number;
}

interface LongTextProps {
  readonly model: SessionModel;
  readonly text: string;
  /** The length of the whole text; `text` may be its beginning. */
  readonly length: number;
  readonly source: TextSource;
  readonly isCode?: boolean;
}

/** A text, folded where it is long. What the page does not hold yet comes piece by piece, as the reader asks for it. */
export function LongText({ model, text, length, source, isCode = false }: LongTextProps) {
  const name = JSON.stringify(source);
  const [fetched, setFetched] = useKept<TextPiece | undefined>(model, `text ${name}`, undefined);
  const [isOpen, setOpen] = useKept(model, `open ${name}`, false);
  const [problem, setProblem] = useState<string>();
  const known = fetched?.text ?? text;
  const isLong = length > foldedLength;
  const shown = !isLong || isOpen ? known : text.slice(0, foldedLength);
  const rest = length - (fetched?.end ?? Math.min(sentLength, length));
  const more = async () => {
    try {
      const from = fetched?.end ?? 0;
      const piece = await getJson<TextPiece>("text", { id: model.sessionId, ...source, from });
      setFetched({ ...piece, text: from === 0 ? piece.text : known + piece.text });
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <div class="long-text">
      <p class={isCode ? "text text-code" : "text"} dir="auto">
        {shown}
        {isLong && !isOpen && "…"}
      </p>
      {isLong && (
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Fold" : `Show all ${counted(length, "character")}`}
        </button>
      )}
      {isLong && isOpen && rest > 0 && (
        <button type="button" class="fold" onClick={() => void more()}>
          Show more: {whole(rest)} of {counted(length, "character")} are left
        </button>
      )}
      {problem !== undefined && <p class="problem">{problem}</p>}
    </div>
  );
}
