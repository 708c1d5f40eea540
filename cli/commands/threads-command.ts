import { Command } from "commander";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { counted, until, whole } from "../figures.js";
import type { Column } from "../fitting-columns.js";
import { positiveOperand } from "../operands.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";
import { describeThread, threadIds, type FoundThread } from "../threads.js";

interface ThreadsOptions extends ServerOptions {
  readonly match?: string;
  readonly limit: number;
}

const columns: readonly Column[] = [
  { title: "thread", cut: { order: 1, least: 36 }, isWhole: true },
  { title: "checkpoints", align: "right" },
  { title: "items", align: "right", isSpare: true },
  { title: "expires in", align: "right", isSpare: true },
  { title: "" },
];

/** `threads`: the LangGraph threads that `RedisSaver` keeps. */
export function threadsCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--match <text>", "only threads whose id holds this text")
    .option("--limit <number>", "at most this many, those with the most checkpoints", positiveOperand, 50)
    .addHelpText("after", "\nThreads of subgraphs count to the thread that they belong to.");
  return { command, run: (context, options) => listThreads(context, options as ThreadsOptions) };
}

async function listThreads({ screen, env, signal }: CommandContext, options: ThreadsOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const threads: FoundThread[] = [];
    for await (const ids of threadIds(server, signal)) {
      const wanted = ids.filter((id) => options.match === undefined || id.includes(options.match));
      const results = await Promise.all(wanted.map((id) => describeThread(server, id)));
      threads.push(...results.flatMap((thread) => thread ?? []));
    }
    if (signal.aborted) {
      return interrupted(screen, "Nothing is listed, because not all threads were looked at.");
    }
    await print(screen, threads, options.limit);
    return exitCodes.done;
  } finally {
    await server.close();
  }
}

async function print(screen: Screen, threads: readonly FoundThread[], limit: number): Promise<void> {
  const sorted = [...threads].sort((a, b) => b.checkpoints - a.checkpoints || (a.threadId < b.threadId ? -1 : 1));
  const shown = sorted.slice(0, limit);
  for (const thread of shown) {
    await screen.record(thread);
  }
  if (threads.length === 0) {
    await screen.line("No thread was found. Check --prefix, and --match.");
    return;
  }
  const rows = shown.map(({ threadId, checkpoints, items, expiresAt, damaged }) => [
    threadId,
    whole(checkpoints),
    whole(items),
    until(expiresAt, Date.now()),
    damaged ? "damaged" : "",
  ]);
  await screen.table(columns, rows);
  const more = threads.length > shown.length ? "; --limit shows more" : "";
  await screen.line(`\n${whole(shown.length)} of ${counted(threads.length, "thread")}${more}.`);
  if (threads.some(({ damaged }) => damaged)) {
    await screen.line("Redis lost a part of those marked damaged: they cannot be resumed, only deleted.");
  }
}
