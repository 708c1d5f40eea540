import { useState } from "preact/hooks";
import { counted, whole } from "../model/figures-in-words.js";
import type { TextPiece } from "../model/data.js";
import { getJson } from "./api-client.js";
import { useKept } from "./hooks.js";
import { MarkdownText } from "./markdown-text.js";
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

/** A text, and where it is from. */
export interface LongTextProps {
  readonly model: SessionModel;
  readonly text: string;
  /** The length of the whole text; `text` may be its beginning. */
  readonly length: number;
  readonly source: TextSource;
  readonly isCode?: boolean;
}

/** The known part of a text, how much is left, and how to fetch the next piece of it. */
export function usePieces({ model, text, length, source }: Omit<LongTextProps, "isCode">) {
  const [fetched, setFetched] = useKept<TextPiece | undefined>(model, `text ${JSON.stringify(source)}`, undefined);
  const [problem, setProblem] = useState<string>();
  const textSoFar = fetched?.text ?? text;
  const rest = length - (fetched?.end ?? Math.min(sentLength, length));
  const more = async () => {
    try {
      const from = fetched?.end ?? 0;
      const piece = await getJson<TextPiece>("text", { id: model.sessionId, ...source, from });
      setFetched({ ...piece, text: from === 0 ? piece.text : textSoFar + piece.text });
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return { textSoFar, rest, more: () => void more(), problem };
}

/** A text, folded where it is long. The rest is loaded piece by piece, as the reader asks for it. */
export function LongText(props: LongTextProps) {
  const { model, text, length, source, isCode = false } = props;
  const { textSoFar, rest, more, problem } = usePieces(props);
  const [isOpen, setOpen] = useKept(model, `open ${JSON.stringify(source)}`, false);
  const isLong = length > foldedLength;
  const shown = !isLong || isOpen ? textSoFar : text.slice(0, foldedLength);
  return (
    <div class="long-text">
      {isCode ? (
        <p class="text text-code" dir="auto">
          {shown}
          {isLong && !isOpen && "…"}
        </p>
      ) : (
        <MarkdownText text={shown} isCut={isLong && !isOpen} />
      )}
      {isLong && (
        <button type="button" class="fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          {isOpen ? "Fold" : `Show all ${counted(length, "character")}`}
        </button>
      )}
      {isLong && isOpen && <MoreButton rest={rest} length={length} onMore={more} />}
      {problem !== undefined && <p class="problem">{problem}</p>}
    </div>
  );
}

/** Fetches the next piece; nothing where none is left. */
export function MoreButton({ rest, length, onMore }: { rest: number; length: number; onMore: () => void }) {
  return rest <= 0 ? null : (
    <button type="button" class="fold" onClick={onMore}>
      Show more: {whole(rest)} of {counted(length, "character")} are left
    </button>
  );
}
