import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Cluster, Redis } from "ioredis";
import { Command, InvalidArgumentError } from "commander";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import type { ModelFact } from "../inspector/model/facts-of-models.js";
import { startInspector } from "../inspector/server/server.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

interface InspectOptions extends ServerOptions {
  readonly port?: number;
  readonly window?: readonly ModelFact[];
  readonly price?: readonly ModelFact[];
}

/** `inspect`: a page that shows sessions, on this computer only. */
export function inspectCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--port <port>", "port of the page (default: one that is free)", portOperand)
    .option(
      "--window <model=tokens>",
      "the window of a model, for its gauge; may be given several times",
      windowOperand,
    )
    .option("--price <model=in/out>", "prices of a million tokens; may be given several times, see below", priceOperand)
    .addHelpText(
      "after",
      "\nPrices are in any currency, in/out or in/out/cached: --price gpt-x=2/8/0.5.\n" +
        'A name that ends with * matches all that begin so: --price "gpt-x*=2/8".\n' +
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
    const { port, window = [], price = [] } = options;
    const models = [...window, ...price];
    const inspector = await startInspector({ server, pageFolder, models, ...(port !== undefined && { port }) });
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

function windowOperand(value: string, before: readonly ModelFact[] = []): ModelFact[] {
  const [, name, tokens] = /^(.+)=([1-9]\d{0,9})$/.exec(value) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError("It must be a model and the tokens of its window, such as gpt-x=128000.");
  }
  return [...before, { name, window: Number(tokens) }];
}

function priceOperand(value: string, before: readonly ModelFact[] = []): ModelFact[] {
  const number = String.raw`\d{1,9}(?:\.\d{1,9})?`;
  const form = new RegExp(`^(.+)=(${number})/(${number})(?:/(${number}))?$`);
  const [, name, input, output, cached] = form.exec(value) ?? [];
  if (name === undefined) {
    throw new InvalidArgumentError("It must be a model and its prices of a million tokens, such as gpt-x=2/8.");
  }
  const price = { input: Number(input), output: Number(output), ...(cached && { cached: Number(cached) }) };
  return [...before, { name, price }];
}

function portOperand(value: string): number {
  const port = Number(value);
  if (!/^\d{1,5}$/.test(value) || port < 1 || port > 65_535) {
    throw new InvalidArgumentError("It must be a port from 1 to 65535.");
  }
  return port;
}
