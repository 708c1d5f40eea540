/**
 * A process that runs command lines one after the other, for tests: a line on its input names the arguments and the
 * environment, and the line that it answers says what was printed, as JSON.
 */
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { runCommandLine } from "../../cli/command-line.js";

interface HostedCommand {
  readonly args: string[];
  readonly env: Record<string, string>;
  /** True for a command that meets Ctrl-C wherever it looks for it first. */
  readonly isInterrupted: boolean;
  /** The width of the terminal that the command writes to; left out for a pipe. */
  readonly columns?: number;
}

for await (const line of createInterface({ input: process.stdin })) {
  const { args, env, isInterrupted, columns } = JSON.parse(line) as HostedCommand;
  const [out, err] = [collector(columns), collector()];
  const streams = { out: out.stream, err: err.stream, env };
  const { signal } = new AbortController();
  const exitCode = await runCommandLine(args, streams, isInterrupted ? AbortSignal.abort() : signal);
  process.stdout.write(`${JSON.stringify({ exitCode, output: out.text(), errors: err.text() })}\n`);
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
