import { existsSync, readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { exitCodeHelp, exitCodes, type ExitCode } from "./command.js";
import { failureOf } from "./failure.js";
import { fittingFor, Screen, widthOf, type Streams } from "./screen.js";
import { commandEntries } from "./command-entries.js";

const helpHint = "Add --help for the options.";

/** Runs a command line (`argv` without node and script) and returns the exit code. Never throws. */
export async function runCommandLine(
  argv: readonly string[],
  streams: Streams,
  signal: AbortSignal,
): Promise<ExitCode> {
  let code: ExitCode = exitCodes.done;
  const program = newProgram(streams);
  for (const { name, summary, load } of commandEntries) {
    // Only the command that runs is loaded: to import them all would take longer than most of them run.
    const { command, run } = argv[0] === name ? await load() : { command: new Command(), run: undefined };
    command
      .name(name)
      .description(summary)
      .option("--json", "print one JSON object a line")
      .exitOverride()
      .showHelpAfterError(helpHint)
      .configureOutput(outputOf(streams))
      .action(async (...args: unknown[]) => {
        const options = args.at(-2) as { readonly json?: boolean };
        const screen = new Screen(streams, { json: options.json === true });
        const context = { screen, env: streams.env, signal };
        code = (await run?.(context, options, args.slice(0, -2))) ?? code;
      });
    program.addCommand(command);
  }
  try {
    await program.parseAsync([...argv], { from: "user" });
    return signal.aborted ? exitCodes.interrupted : code;
  } catch (error) {
    return fail(error, streams, signal);
  }
}

function fail(error: unknown, streams: Streams, signal: AbortSignal): ExitCode {
  if (signal.aborted && !(error instanceof CommanderError)) {
    return exitCodes.interrupted;
  }
  const { code, sentence } = failureOf(error);
  if (sentence !== undefined) {
    streams.err.write(`${fittingFor(streams.err, sentence)}\n`);
  }
  return code;
}

function newProgram(streams: Streams): Command {
  return new Command("langchain-redis-memory")
    .description("Look at, move, check and simulate conversations that langchain-redis-memory keeps in Redis.")
    .version(versionOfPackage())
    .exitOverride()
    .configureOutput(outputOf(streams))
    .helpCommand(false)
    .showHelpAfterError(helpHint)
    .addHelpText("after", exitCodeHelp);
}

function outputOf({ out, err, env }: Streams) {
  return {
    writeOut: (text: string) => void out.write(fittingFor(out, text)),
    writeErr: (text: string) => void err.write(fittingFor(err, text)),
    getOutHelpWidth: () => widthOf(out) ?? 80,
    getErrHelpWidth: () => widthOf(err) ?? 80,
    getOutHasColors: () => out.isTTY === true && !env["NO_COLOR"],
    getErrHasColors: () => err.isTTY === true && !env["NO_COLOR"],
  };
}

function versionOfPackage(): string {
  // From the sources, and from the built command.
  const places = ["../package.json", "../../package.json"].map((path) => new URL(path, import.meta.url));
  const manifest = places.find((place) => existsSync(place))!;
  return (JSON.parse(readFileSync(manifest, "utf8")) as { version: string }).version;
}
