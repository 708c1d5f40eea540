import { useMemo } from "preact/hooks";
import { counted, whole } from "../model/figures-in-words.js";
import { jsonLevels, type JsonLine } from "../model/json-levels.js";
import { useKept } from "./hooks.js";
import { MoreButton, usePieces, type LongTextProps } from "./long-text.js";
import type { SessionModel } from "./session-model.js";

/** Lines of a level that are shown at first, and more each time that the reader asks. */
const linesAtOnce = 100;
/** A level with at most this many lines is open at first. */
const smallLevel = 12;

/** JSON that has a line for each value. The rest is loaded as the reader asks for it. */
export function LongJson(props: Omit<LongTextProps, "isCode">) {
  const { model, length, source } = props;
  const { textSoFar, rest, more, problem } = usePieces(props);
  return (
    <div class="long-text">
      <FoldedJson model={model} name={JSON.stringify(source)} text={textSoFar} />
      <MoreButton rest={rest} length={length} onMore={more} />
      {problem !== undefined && <p class="problem">{problem}</p>}
    </div>
  );
}

interface FoldedJsonProps {
  readonly model: SessionModel;
  /** Unique in the session: what is unfolded stays so. */
  readonly name: string;
  readonly text: string;
}

/** Laid-out JSON, or its beginning: each level can be folded, and only what is open is in the document. */
export function FoldedJson({ model, name, text }: FoldedJsonProps) {
  const lines = useMemo(() => jsonLevels(text), [text]);
  return (
    <div class="json" dir="ltr">
      <JsonLines model={model} name={`${name} json`} lines={lines} isOutermost={true} />
    </div>
  );
}

interface JsonLinesProps extends Omit<FoldedJsonProps, "text"> {
  readonly lines: readonly JsonLine[];
  readonly isOutermost?: boolean;
}

function JsonLines({ model, name, lines, isOutermost = false }: JsonLinesProps) {
  const [shown, setShown] = useKept(model, `${name} shown`, linesAtOnce);
  const left = lines.length - shown;
  return (
    <>
      {lines.slice(0, shown).map((line, index) =>
        line.kind === "value" ? (
          <div key={index} class="json-line">
            {line.text}
          </div>
        ) : (
          <JsonLevel key={index} model={model} name={`${name} ${line.line}`} level={line} isOutermost={isOutermost} />
        ),
      )}
      {left > 0 && (
        <button type="button" class="fold" onClick={() => setShown(shown + linesAtOnce)}>
          Show more: {whole(left)} of {counted(lines.length, "value")} are left
        </button>
      )}
    </>
  );
}

interface JsonLevelProps extends Omit<JsonLinesProps, "lines"> {
  readonly level: Extract<JsonLine, { readonly kind: "level" }>;
}

function JsonLevel({ model, name, level, isOutermost = false }: JsonLevelProps) {
  const { open, close, inside, lines } = level;
  const [isOpen, setOpen] = useKept(model, `${name} open`, isOutermost || lines <= smallLevel);
  return (
    <>
      <button type="button" class="json-level" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {open}
        {!isOpen && (
          <>
            <span class="json-inside-words"> {counted(inside.length, "value")} </span>
            {close ?? "…"}
          </>
        )}
      </button>
      {isOpen && (
        <div class="json-inside">
          <JsonLines model={model} name={name} lines={inside} />
        </div>
      )}
      {isOpen && <div class="json-line">{close ?? "…"}</div>}
    </>
  );
}
