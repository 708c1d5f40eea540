import { Command } from "commander";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { counted } from "../figures.js";
import { interrupted } from "../interruption.js";
import { ProgressBar } from "../progress-bar.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

/** `reindex`: lists every session under its owner, and nothing else there. */
export function reindexCommand(): CommandDefinition {
  const command = withServerOptions(new Command()).addHelpText(
    "after",
    "\nSessions are not changed, and writers go on meanwhile.",
  );
  return { command, run: (context, options) => reindex(context, options as ServerOptions) };
}

async function reindex({ screen, env, signal }: CommandContext, options: ServerOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  const bar = new ProgressBar(screen, { total: undefined, unit: "sessions" });
  try {
    signal.throwIfAborted();
    const sessions = await server.memory.sessions.reindex({
      onProgress: (progress) => {
        bar.reach(progress.sessions);
        signal.throwIfAborted();
      },
    });
    await screen.record({ sessions });
    await screen.line(`The lists of owners agree with ${counted(sessions, "session")} that have an owner.`);
    return exitCodes.done;
  } catch (error) {
    if (signal.aborted) {
      return interrupted(screen, "Not all lists were looked at; run the same command again.");
    }
    throw error;
  } finally {
    bar.stop();
    await server.close();
  }
}
