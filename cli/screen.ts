import { once } from "node:events";
import type { Writable } from "node:stream";
import Table from "cli-table3";
import { createColors } from "picocolors";
import stringWidth from "string-width";
import { fittingColumns, gap, type Column } from "./fitting-columns.js";
import { printable } from "./printable.js";

/** A command's output streams. */
export interface Streams {
  readonly out: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly err: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  readonly env: Readonly<Record<string, string | undefined>>;
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
    this.width = out.isTTY === true ? out.columns || 80 : undefined;
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
    this.clearProgress?.();
    if (!this.#streams.out.write(text)) {
      await once(this.#streams.out, "drain");
    }
  }

  /** Writes a line of text, except with `--json`. */
  async line(text = ""): Promise<void> {
    if (!this.isJson) {
      await this.write(`${text}\n`);
    }
  }

  /** Writes a value as a line of JSON, with `--json` only. */
  async record(value: object): Promise<void> {
    if (this.isJson) {
      await this.write(`${JSON.stringify(value)}\n`);
    }
  }

  /** Writes a table, except with `--json`: without columns that are empty, and never wider than the terminal. */
  async table(allColumns: readonly Column[], rows: readonly (readonly string[])[]): Promise<void> {
    const allCells = rows.map((row) => row.map((cell) => printable(cell)));
    const sized = allColumns.map((column, index) => ({
      ...column,
      index,
      width: allCells.reduce((most, row) => Math.max(most, stringWidth(row[index] ?? "")), stringWidth(column.title)),
    }));
    const columns = fittingColumns(
      sized.filter(({ index }) => allCells.some((row) => row[index])),
      this.width ?? Infinity,
    );
    const cells = allCells.map((row) => columns.map(({ index }) => row[index] ?? ""));
    const table = new Table({
      head: columns.map(({ title }) => this.colours.bold(title)),
      colAligns: columns.map(({ align }) => align ?? "left"),
      colWidths: columns.map(({ width }) => width + gap),
      chars: noBorders,
      style: { head: [], border: [], "padding-left": 0, "padding-right": gap },
      truncate: "…",
    });
    table.push(...cells);
    await this.line(table.toString().replace(/ +$/gm, ""));
  }

  /** Writes a sentence for the user to standard error. */
  note(sentence: string): void {
    this.clearProgress?.();
    this.#streams.err.write(`${sentence}\n`);
  }
}

const noBorders = Object.fromEntries(
  ["top", "top-mid", "top-left", "top-right", "bottom", "bottom-mid", "bottom-left", "bottom-right"]
    .concat(["left", "left-mid", "mid", "mid-mid", "right", "right-mid", "middle"])
    .map((name) => [name, ""]),
);
