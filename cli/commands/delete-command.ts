import { Command } from "commander";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { UsageError } from "../failure.js";
import { interrupted } from "../interruption.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

interface DeleteOptions extends ServerOptions {
  readonly yes?: boolean;
}

/** Milliseconds for which nobody can bring a deleted session back; as long as `sessions.delete` of the library. */
const guardMs = 600_000;

/** `delete`: removes sessions and all that is kept about them. */
export function deleteCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("<sessions...>", "ids of the sessions"))
    .option("--yes", "really delete; without it nothing is done")
    .addHelpText(
      "after",
      "\nFor ten minutes, writes to a deleted session are refused: a turn that is under\nway ends.",
    );
  return {
    command,
    run: (context, options, [sessions]) => deleteSessions(context, options as DeleteOptions, sessions as string[]),
  };
}

async function deleteSessions(
  { screen, env, signal }: CommandContext,
  options: DeleteOptions,
  sessions: readonly string[],
): Promise<ExitCode> {
  if (options.yes !== true) {
    throw new UsageError("delete: nothing was deleted. What is deleted cannot be brought back; add --yes to do it.");
  }
  const server = await openServer(options, env);
  let missing = 0;
  try {
    for (const sessionId of sessions) {
      if (signal.aborted) {
        return interrupted(screen, "The sessions that are not named above are still there.");
      }
      const deleted = await server.store.index.erase({ id: sessionId }, { guardMs });
      missing += deleted ? 0 : 1;
      await screen.record({ sessionId, deleted });
      await screen.line(`${printable(sessionId)}: ${deleted ? "deleted" : "there is no such session"}`);
    }
  } finally {
    await server.close();
  }
  return missing === 0 ? exitCodes.done : exitCodes.findings;
}
