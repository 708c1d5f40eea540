import { Command } from "commander";
import { sessionKeys } from "../../src/redis/keys.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { DataError } from "../failure.js";
import { counted } from "../figures.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

/** `rebuild`: repairs a session of which Redis lost a part. */
export function rebuildCommand(): CommandDefinition {
  return {
    command: withServerOptions(new Command().argument("<session>", "the session's id")),
    run: (context, options, [session]) => rebuild(context, options as ServerOptions, session as string),
  };
}

async function rebuild({ screen, env }: CommandContext, options: ServerOptions, sessionId: string): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const { log, ids, state } = sessionKeys(server.keyPrefix, sessionId);
    if ((await server.client.exists(log, ids, state)) === 0) {
      throw new DataError(`rebuild: there is no session ${JSON.stringify(sessionId)}. Check --prefix.`);
    }
    const history = server.memory.history(sessionId);
    await history.rebuild();
    const { messages } = await history.stats();
    await screen.record({ sessionId, messages });
    await screen.line(`${printable(sessionId)}: rebuilt from its log, ${counted(messages, "message")}.`);
    return exitCodes.done;
  } finally {
    await server.close();
  }
}
