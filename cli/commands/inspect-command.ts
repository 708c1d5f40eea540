import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Cluster, Redis } from "ioredis";
import { Command, InvalidArgumentError } from "commander";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { startInspector } from "../inspector/server/server.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

interface InspectOptions extends ServerOptions {
  readonly port?: number;
}

/** `inspect`: a page that shows sessions, on this computer only. */
export function inspectCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--port <port>", "port of the page (default: one that is free)", portOperand)
    .addHelpText(
      "after",
      "\nServes a page on 127.0.0.1, to those who have the printed address. It reads and\n" +
        "never writes; nothing leaves this computer. Ends with Ctrl-C.",
    );
  return { command, run: (context, options) => inspect(context, options as InspectOptions) };
}

async function inspect({ screen, env, signal }: CommandContext, options: InspectOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    outliveRestarts(server.client);
    const pageFolder = fileURLToPath(new URL("./inspector", import.meta.url));
    const { port } = options;
    const inspector = await startInspector({ server, pageFolder, ...(port !== undefined && { port }) });
    await screen.record({ url: inspector.url });
    await screen.line(`Sessions of ${printable(server.address)} are shown at\n\n  ${inspector.url}\n`);
    screen.note("Whoever has this address can read the sessions while this command runs. Ctrl-C ends it.");
    if (!signal.aborted) {
      await once(signal, "abort");
    }
    await inspector.close();
    return exitCodes.interrupted;
  } finally {
    await server.close();
  }
}

/** Connects again for as long as the page is open, also to a server that is away for a while. */
function outliveRestarts(client: Redis | Cluster): void {
  const patience = (times: number) => Math.min(2_000, times * 200);
  Object.assign(client.options, { retryStrategy: patience, clusterRetryStrategy: patience });
}

function portOperand(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError("It must be a port from 1 to 65535.");
  }
  return port;
}
