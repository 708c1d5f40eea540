import { Command } from "commander";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { problemOf } from "../damage.js";
import { counted } from "../figures.js";
import { printable } from "../printable.js";
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
    const problems: SessionProblem[] = [];
    const sessions = await server.memory.sessions.reindex({
      onProblem: (problem) => problems.push(problem),
      onProgress: (progress) => {
        bar.reach(progress.sessions);
        signal.throwIfAborted();
      },
    });
    bar.stop();
    for (const { sessionId, error } of problems) {
      const reason = await problemOf(server, sessionId, error);
      await screen.record({ sessionId, problem: "failed", reason });
      await screen.line(printable(`${sessionId}: failed: ${reason}`));
    }
    const [listed, failed] = [sessions - problems.length, problems.length];
    await screen.record({ sessions: listed, failed });
    const left = failed === 0 ? "." : `; ${counted(failed, "session")} left as named above.`;
    await screen.line(`The lists of owners agree with ${counted(listed, "session")} that have an owner${left}`);
    return failed === 0 ? exitCodes.done : exitCodes.findings;
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
