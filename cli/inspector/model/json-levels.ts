/** A line of laid-out JSON: a value, or a level with the lines inside it. */
export type JsonLine =
  | { readonly kind: "value"; readonly text: string }
  | {
      readonly kind: "level";
      /** Number of its first line: its name within the text. */
      readonly line: number;
      readonly open: string;
      /** Undefined where the text ends inside it. */
      readonly close: string | undefined;
      readonly inside: readonly JsonLine[];
      /** Lines inside it, at all depths. */
      readonly lines: number;
    };

interface OpenLevel {
  readonly line: number;
  readonly open: string;
  readonly inside: JsonLine[];
}

/** Levels of a text; what lies deeper stands on lines of its own, so that no depth exceeds the stack. */
const deepest = 200;

/**
 * The lines of JSON that has a line for each value, or of its beginning, as levels that can be folded. A line that ends
 * with a bracket opens a level, and one that begins with a closing one ends it: strings end with their quote. Linear.
 */
export function jsonLevels(text: string): JsonLine[] {
  const levels: OpenLevel[] = [{ line: -1, open: "", inside: [] }];
  let deeper = 0;
  const close = (line: number, word: string | undefined) => {
    const { inside, ...level } = levels.pop()!;
    levels.at(-1)!.inside.push({ kind: "level", ...level, close: word, inside, lines: line - level.line - 1 });
  };
  const lines = text.split("\n");
  lines.forEach((whole, line) => {
    const word = whole.trim();
    const opens = /[[{]$/.test(word);
    if (opens && levels.length <= deepest) {
      levels.push({ line, open: word, inside: [] });
    } else if (/^[\]}]/.test(word) && deeper === 0 && levels.length > 1) {
      close(line, word);
    } else {
      deeper += opens ? 1 : /^[\]}]/.test(word) && deeper > 0 ? -1 : 0;
      levels.at(-1)!.inside.push({ kind: "value", text: word });
    }
  });
  while (levels.length > 1) {
    close(lines.length, undefined);
  }
  return levels[0]!.inside;
}
