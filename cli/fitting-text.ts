import stringWidth from "string-width";

const ellipsis = "…";
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/**
 * A line of text as lines that a terminal has room for: broken at spaces, and inside a word only where it alone is too
 * wide. Lines after the first begin `indent` columns in, by default two more than the text.
 */
export function fittingLines(text: string, width: number, indent = indentOf(text) + 2): string[] {
  if (stringWidth(text) <= width) {
    return [text];
  }
  const margin = " ".repeat(Math.min(indent, Math.floor(width / 2)));
  const lines: string[] = [];
  let [line, used, isBlank] = ["", 0, true];
  const add = (part: string, size: number) => {
    line += part;
    used += size;
    isBlank &&= part.trim() === "";
  };
  const breakLine = () => {
    lines.push(line.trimEnd());
    [line, used, isBlank] = [margin, margin.length, true];
  };
  for (const [, spaces = "", word = ""] of text.matchAll(/( *)([^ ]*)/g)) {
    const size = stringWidth(word);
    if (!isBlank && used + spaces.length + size > width) {
      breakLine();
    } else {
      add(spaces, spaces.length);
    }
    if (used + size <= width) {
      add(word, size);
      continue;
    }
    for (const part of graphemesOf(word)) {
      const partSize = stringWidth(part);
      if (used + partSize > width && !isBlank) {
        breakLine();
      }
      add(part, partSize);
    }
  }
  return isBlank ? lines : [...lines, line];
}

/** Text that is at most as wide; what was cut off is shown by an ellipsis. */
export function cutText(text: string, width: number): string {
  if (stringWidth(text) <= width) {
    return text;
  }
  let [start, used] = ["", 0];
  for (const part of graphemesOf(text)) {
    used += stringWidth(part);
    if (used > width - 1) {
      break;
    }
    start += part;
  }
  return width < 1 ? "" : start + ellipsis;
}

/** Text with spaces in front of it or behind it, as wide as its column. */
export function padText(text: string, width: number, align: "left" | "right"): string {
  const spaces = " ".repeat(Math.max(0, width - stringWidth(text)));
  return align === "right" ? spaces + text : text + spaces;
}

function indentOf(text: string): number {
  return text.length - text.trimStart().length;
}

function graphemesOf(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment);
}
