/**
 * A process that runs command lines one after the other, for tests: a line on its input names the arguments and the
 * environment, and the line that it answers says what was printed, as JSON.
 */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import stringWidth from "string-width";
import { runCommandLine } from "../../cli/command-line.js";

interface HostedCommand {
  readonly args: string[];
  readonly env: Record<string, string>;
  /** True for a command that meets Ctrl-C wherever it looks for it first. */
  readonly isInterrupted: boolean;
  /** The width of the terminal that the command writes to; left out for a pipe. */
  readonly columns?: number;
  /** The same of the terminal that errors and notes are written to. */
  readonly errorColumns?: number;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { args, env, isInterrupted, columns, errorColumns } = JSON.parse(line) as HostedCommand;
  const [out, err] = [collector(columns), collector(errorColumns)];
  const streams = { out: out.stream, err: err.stream, env };
  const { signal } = new AbortController();
  const exitCode = await runCommandLine(args, streams, isInterrupted ? AbortSignal.abort() : signal);
  const texts = { output: out.text(), errors: err.text() };
  const wide = columns && [
    ...linesWiderThan(columns, texts.output),
    ...linesWiderThan(errorColumns, texts.errors.replace(/\u001b\[\?\d+[hl]/g, "")),
  ];
  process.stdout.write(`${JSON.stringify({ exitCode, ...texts, wide })}\n`);
}

/** Measured here, because the package that does it is an ES module. */
function linesWiderThan(columns: number | undefined, text: string): string[] {
  // Progress is drawn over itself.
  const lines = text.split(/\n|\u001b\[\d*[GK]|\r/);
  return columns === undefined ? [] : lines.filter((line) => stringWidth(line) > columns);
}

function collector(columns?: number): { readonly stream: Writable; text(): string } {
  let text = "";
  const stream = new Writable({
    decodeStrings: false,
    write: (part, _, done) => {
      text += String(part);
      done();
    },
  });
  return { stream: Object.assign(stream, columns === undefined ? {} : { isTTY: true, columns }), text: () => text };
}
