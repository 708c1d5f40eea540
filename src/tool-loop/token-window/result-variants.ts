import { countsBelow, cutText, lengthsBelow, sourcesText } from "./cut-text.js";
import type { SourceReference } from "../stored/reference-manager.js";
import type { ToolResult } from "../turn/tool-results.js";
import type { DroppedPart } from "./window-outcome.js";

/** A smaller body of a tool result, and what it omits. */
export interface BodyVariant {
  readonly render: () => string;
  readonly dropped: DroppedPart;
}

/** The smaller bodies of a result, each group in descending size: fewer sources, shorter texts, and the last resort. */
export interface ResultVariants {
  readonly fewer: readonly BodyVariant[];
  readonly shorter: readonly BodyVariant[];
  readonly last: readonly BodyVariant[];
}

/** A text is not cut below this length until every other result of the loop is that short. */
const readableCharacters = 1_000;

/** Returns the smaller bodies of a result. They depend only on the result and on what is cited, not on the window. */
export function resultVariants(result: ToolResult, cited: ReadonlySet<number>): ResultVariants {
  return result.sources.length > 0 ? sourceVariants(result, cited) : textVariants(result);
}

function textVariants(result: ToolResult): ResultVariants {
  const { text, callId, failed } = result;
  const showing = (shown: number, render: () => string): BodyVariant => {
    return { render, dropped: { section: "loop", kind: "text", toolCallId: callId, shown, of: text.length } };
  };
  const cut = (characters: number) => showing(characters, () => cutText(text, characters));
  const lengths = lengthsBelow(text.length);
  return {
    fewer: lengths.filter((length) => length >= readableCharacters).map(cut),
    shorter: lengths.filter((length) => length < readableCharacters).map(cut),
    // A failure is short, and without it the model would call the tool again.
    last: failed ? [] : [showing(0, () => "[Result omitted: it does not fit the context window.]")],
  };
}

function sourceVariants(result: ToolResult, cited: ReadonlySet<number>): ResultVariants {
  const { sources } = result;
  const isCited = ({ sourceNumber }: SourceReference) => cited.has(sourceNumber);
  const protectedSources = sources.filter(isCited);
  const others = sources.filter((source) => !isCited(source));
  const withOthers = (count: number) => {
    const kept = new Set([...protectedSources, ...others.slice(0, count)]);
    return keep(
      result,
      sources.filter((source) => kept.has(source)),
    );
  };
  const only = protectedSources[0] ?? sources[0]!;
  const shortened = lengthsBelow(only.chunk.text.length).map((length) => keep(result, [shorten(only, length)]));
  const fewerCited = countsBelow({ from: protectedSources.length, least: 1 }).map((count) =>
    keep(result, protectedSources.slice(0, count)),
  );
  const citedGoLast = protectedSources.length > 0;
  return {
    fewer: countsBelow({ from: others.length, least: citedGoLast ? 0 : 1 }).map(withOthers),
    shorter: citedGoLast ? [] : shortened,
    last: [...(citedGoLast ? [...fewerCited, ...shortened] : []), keep(result, [])],
  };
}

function shorten(source: SourceReference, characters: number): SourceReference {
  return { ...source, chunk: { ...source.chunk, text: cutText(source.chunk.text, characters) } };
}

function keep({ sources, callId }: ToolResult, kept: readonly SourceReference[]): BodyVariant {
  const numbers = new Set(kept.map(({ sourceNumber }) => sourceNumber));
  const whole = new Set(sources);
  return {
    render: () =>
      kept.length > 0 ? sourcesText(kept) : `[${sources.length} sources omitted: they do not fit the context window.]`,
    dropped: {
      section: "loop",
      kind: "sources",
      toolCallId: callId,
      sourceNumbers: sources.flatMap(({ sourceNumber }) => (numbers.has(sourceNumber) ? [] : [sourceNumber])),
      shortened: kept.filter((source) => !whole.has(source)).map(({ sourceNumber }) => sourceNumber),
    },
  };
}
