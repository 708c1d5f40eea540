import { once } from "node:events";
import type { Writable } from "node:stream";
import { createColors } from "picocolors";
import stringWidth from "string-width";
import { fittingColumns, gap, type Column } from "./fitting-columns.js";
import { cutText, fittingLines, padText } from "./fitting-text.js";
import { printable } from "./printable.js";

/** A command's output streams. */
export interface Streams {
  readonly out: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly err: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Lines of a table that are made and written together: all of a long one would take much memory. */
const linesAtOnce = 500;

/** How a line is shown. */
export interface LineStyle {
  /** Columns in front of what does not fit the first line. @default two more than in front of the text */
  readonly indent?: number;
  /** Colours each line that the terminal shows. */
  readonly paint?: (text: string) => string;
}

/** Columns of a terminal; undefined where the stream is none, and nothing is shortened. */
export function widthOf({ isTTY, columns }: Streams["out"]): number | undefined {
  return isTTY === true ? columns || 80 : undefined;
}

/** Text in lines that fit the stream's terminal, which obeys nothing but `paint`. */
export function fittingFor(stream: Streams["out"], text: string, { indent, paint }: LineStyle = {}): string {
  const width = widthOf(stream);
  const lines = printable(text, { lines: true }).split("\n");
  const fitting = width === undefined ? lines : lines.flatMap((line) => fittingLines(line, width, indent));
  return (paint === undefined ? fitting : fitting.map(paint)).join("\n");
}

/**
 * The user's terminal, or the pipe behind the command. Results go to standard output: text, or with `--json` one JSON
 * object a line. Notes and progress go to standard error.
 *
 * Text from Redis or files may hold anything; control characters are shown as escapes.
 */
export class Screen {
  readonly #streams: Streams;
  readonly isJson: boolean;
  readonly colours: ReturnType<typeof createColors>;
  /** Columns of the terminal; undefined where standard output is none, and nothing is shortened. */
  readonly width: number | undefined;
  /** True where progress can be shown in place. */
  readonly showsProgress: boolean;

  constructor(streams: Streams, { json }: { readonly json: boolean }) {
    const { out, err, env } = streams;
    this.#streams = streams;
    this.isJson = json;
    const hasColour = out.isTTY === true && !env["NO_COLOR"] && env["TERM"] !== "dumb" && !json;
    this.colours = createColors(hasColour);
    this.width = widthOf(out);
    this.showsProgress = err.isTTY === true && !json;
  }

  /** The stream that progress is drawn on. */
  get errorStream(): Streams["err"] {
    return this.#streams.err;
  }

  /** Progress that stands on the screen has to go before anything else is written there. */
  clearProgress: (() => void) | undefined;

  /** Writes text as it is to standard output, and waits while the reader is slower. */
  async write(text: string): Promise<void> {
    if (this.width !== undefined) {
      this.clearProgress?.();
    }
    if (!this.#streams.out.write(text)) {
      await once(this.#streams.out, "drain");
    }
  }

  /** Writes a line of text, except with `--json`; as several lines where the terminal is too narrow. */
  async line(text = "", style: LineStyle = {}): Promise<void> {
    if (!this.isJson) {
      await this.write(`${fittingFor(this.#streams.out, text, style)}\n`);
    }
  }

  /** Writes a value as a line of JSON, with `--json` only. */
  async record(value: object): Promise<void> {
    if (this.isJson) {
      await this.write(`${printable(JSON.stringify(value))}\n`);
    }
  }

  /** Writes a table, except with `--json`: without columns that are empty, and never wider than the terminal. */
  async table(allColumns: readonly Column[], rows: readonly (readonly string[])[]): Promise<void> {
    if (this.isJson) {
      return;
    }
    const cellsOf = (row: readonly string[]) => row.map((cell) => printable(cell));
    const widths = allColumns.map(({ title }) => stringWidth(title));
    const filled = new Set<number>();
    for (const row of rows) {
      cellsOf(row).forEach((cell, index) => {
        widths[index] = Math.max(widths[index]!, stringWidth(cell));
        filled.add(cell === "" ? -1 : index);
      });
    }
    const columns = fittingColumns(
      allColumns
        .map((column, index) => ({ ...column, index, width: widths[index]! }))
        .filter(({ index }) => filled.has(index)),
      this.width ?? Infinity,
    );
    const lineOf = ([first = "", ...others]: readonly string[]): string => {
      if (columns[0]?.isWhole && stringWidth(first) > columns[0].width) {
        return `${first}\n${lineOf(["", ...others])}`;
      }
      const cells = [first, ...others];
      const padded = columns.map(({ index, width, align = "left" }) =>
        padText(cutText(cells[index] ?? "", width), width, align),
      );
      return padded.join(" ".repeat(gap)).trimEnd();
    };
    await this.line(lineOf(allColumns.map(({ title }) => title)), { paint: this.colours.bold });
    for (let from = 0; from < rows.length; from += linesAtOnce) {
      const some = rows.slice(from, from + linesAtOnce).map((row) => lineOf(cellsOf(row)));
      await this.line(some.join("\n"));
    }
  }

  /** Writes a sentence for the user to standard error. */
  note(sentence: string): void {
    this.clearProgress?.();
    this.#streams.err.write(`${fittingFor(this.#streams.err, sentence)}\n`);
  }
}
