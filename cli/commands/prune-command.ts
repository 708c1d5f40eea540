import { Command } from "commander";
import { threadKeys } from "../../src/store/redis/keys.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { noThread, UsageError } from "../failure.js";
import { counted } from "../figures.js";
import { positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";
import { describeThread, threadStoreOf } from "../threads.js";

interface PruneOptions extends ServerOptions {
  readonly thread?: string;
  readonly keep?: number;
  readonly dryRun?: boolean;
}

/** `prune`: drops the older checkpoints of a LangGraph thread. */
export function pruneCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--thread <id>", "the thread's id")
    .option("--keep <number>", "how many checkpoints to keep, the newest", positiveOperand)
    .option("--dry-run", "say how many would be dropped, and drop none")
    .addHelpText(
      "after",
      "\nCheckpoints of subgraphs, and texts that no other checkpoint needs, go with\n" +
        "those that are dropped. What the newest ones need to go on stays.",
    );
  return { command, run: (context, options) => prune(context, options as PruneOptions) };
}

async function prune({ screen, env }: CommandContext, options: PruneOptions): Promise<ExitCode> {
  const { thread: threadId, keep, dryRun = false } = options;
  if (threadId === undefined || keep === undefined) {
    throw new UsageError("prune: name the thread by --thread, and give --keep.");
  }
  const server = await openServer(options, env);
  try {
    if ((await describeThread(server, threadId)) === undefined) {
      throw noThread("prune", threadId);
    }
    if (dryRun) {
      const { order } = threadKeys(server.keyPrefix, threadId);
      // Members are namespace, NUL and id; the root graph's namespace is empty.
      const atMost = Math.max(0, (await server.client.zlexcount(order, "[\0", "(\u0001")) - keep);
      await screen.record({ threadId, wouldDrop: atMost });
      const amount = `at most ${counted(atMost, "checkpoint")} of the root graph`;
      await screen.line(`${printable(threadId)}: ${amount} would be dropped. Nothing was dropped (--dry-run).`);
      return exitCodes.done;
    }
    const dropped = await threadStoreOf(server).prune(threadId, keep);
    await screen.record({ threadId, dropped });
    await screen.line(`${printable(threadId)}: ${counted(dropped, "checkpoint")} dropped`);
    return exitCodes.done;
  } finally {
    await server.close();
  }
}
