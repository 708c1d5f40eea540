import { Command } from "commander";
import { maxListLimit, type ListPlace } from "../../src/store/contract/session-ref.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { remainsOf } from "../damage.js";
import { UsageError } from "../failure.js";
import { counted } from "../figures.js";
import { namespaceHelp, namespaceOperand, refuseNamespace } from "../operands.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { describeThread, type FoundThread } from "../threads.js";

interface DeleteOptions extends ServerOptions {
  readonly owner?: string;
  readonly unlisted?: boolean;
  readonly yes?: boolean;
  readonly dryRun?: boolean;
}

/** Milliseconds for which nobody can bring a deleted session back; as long as `sessions.delete` of the library. */
const guardMs = 600_000;

/** `delete`: removes sessions and all that is kept about them. */
export function deleteCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[sessions...]", "ids of the sessions"))
    .option("--owner <owner>", "all sessions of this owner")
    .option("--unlisted", "with --owner: also what is theirs and in no list; reads every key of Redis")
    .option("--namespace <labels>", namespaceHelp, namespaceOperand)
    .option("--yes", "really delete; without it nothing is done")
    .option("--dry-run", "name what would be deleted, and delete nothing")
    .addHelpText(
      "after",
      "\nFor ten minutes, writes to a deleted session are refused: a turn that is under\n" +
        "way ends. The LangGraph thread of the same id is deleted, too.",
    );
  return {
    command,
    run: (context, options, [sessions]) => deleteSessions(context, options as DeleteOptions, sessions as string[]),
  };
}

async function deleteSessions(
  context: CommandContext,
  options: DeleteOptions,
  sessions: readonly string[],
): Promise<ExitCode> {
  const { owner, unlisted = false, yes, dryRun } = options;
  if ((owner === undefined) === (sessions.length === 0)) {
    throw new UsageError("delete: name sessions, or give --owner.");
  }
  if (unlisted && owner === undefined) {
    throw new UsageError("delete: --unlisted goes with --owner.");
  }
  refuseNamespace("delete", options);
  if (yes !== true && dryRun !== true) {
    throw new UsageError(
      "delete: nothing was deleted. What is deleted cannot be brought back; add --yes to do it, or --dry-run.",
    );
  }
  const server = await openServer(options, context.env);
  try {
    if (dryRun === true) {
      return await foretell(server, context, owner === undefined ? sessions : idsOf(server, { owner, unlisted }));
    }
    return await (owner === undefined
      ? deleteNamed(server, context, sessions)
      : deleteOwned(server, context, { owner, unlisted }));
  } finally {
    await server.close();
  }
}

async function deleteNamed(
  server: Server,
  { screen, signal }: CommandContext,
  sessions: readonly string[],
): Promise<ExitCode> {
  let missing = 0;
  for (const sessionId of sessions) {
    if (signal.aborted) {
      return interrupted(screen, "The sessions that are not named above are still there.");
    }
    // An erasure knows a session by its state; of a damaged one, other keys may be all that is there.
    const [remains, thread] = await Promise.all([remainsOf(server, sessionId), describeThread(server, sessionId)]);
    const erased = await server.store.lists.erase({ id: sessionId }, { guardMs });
    const deleted = erased || remains !== undefined || thread !== undefined;
    missing += deleted ? 0 : 1;
    await screen.record({ sessionId, deleted, ...(thread && { checkpoints: thread.checkpoints }) });
    const outcome = deleted ? `deleted${withThread(thread)}` : "there is no such session";
    await screen.line(`${printable(sessionId)}: ${outcome}`);
  }
  return missing > 0 ? exitCodes.findings : exitCodes.done;
}

async function deleteOwned(
  server: Server,
  { screen, signal }: CommandContext,
  { owner, unlisted }: { readonly owner: string; readonly unlisted: boolean },
): Promise<ExitCode> {
  const bar = new ProgressBar(screen, { total: undefined, unit: "sessions" });
  try {
    signal.throwIfAborted();
    const { sessions, items } = await server.memory.sessions.deleteOwner(owner, {
      guardMs,
      unlisted,
      onProgress: (progress) => {
        bar.reach(progress.sessions);
        signal.throwIfAborted();
      },
    });
    bar.stop();
    await screen.record({ owner, sessions, items });
    const itemsText = items === "not asked" ? "items not asked (--namespace)" : counted(items, "item");
    await screen.line(printable(`${owner}: ${counted(sessions, "session")} deleted, ${itemsText}`));
    return sessions === 0 && (items === 0 || items === "not asked") ? exitCodes.nothing : exitCodes.done;
  } catch (error) {
    if (signal.aborted) {
      return interrupted(screen, "Not all sessions of this owner were deleted; run the same command again.");
    }
    throw error;
  } finally {
    bar.stop();
  }
}

function withThread(thread: FoundThread | undefined): string {
  return thread === undefined ? "" : `, with ${counted(thread.checkpoints, "checkpoint")} of the LangGraph thread`;
}

/** The ids of an owner's sessions: those of the list, or with a scan of all keys. */
async function* idsOf(
  { plainLists }: Server,
  { owner, unlisted }: { readonly owner: string; readonly unlisted: boolean },
): AsyncGenerator<string> {
  if (unlisted) {
    return yield* plainLists.scan({ owner });
  }
  for (let page, before: ListPlace | undefined; page === undefined || before !== undefined; before = page.next) {
    page = await plainLists.list(owner, { limit: maxListLimit, ...(before && { before }) });
    yield* page.sessions.map(({ sessionId }) => sessionId);
  }
}

/** Names what would be deleted. */
async function foretell(
  server: Server,
  { screen, signal }: CommandContext,
  sessions: readonly string[] | AsyncIterable<string>,
): Promise<ExitCode> {
  let [found, missing] = [0, 0];
  for await (const sessionId of sessions) {
    if (signal.aborted) {
      return interrupted(screen, "Not all sessions were looked at. Nothing was deleted (--dry-run).");
    }
    const [remains, thread] = await Promise.all([remainsOf(server, sessionId), describeThread(server, sessionId)]);
    const [wouldDelete, messages] = [remains !== undefined || thread !== undefined, remains?.messages ?? 0];
    found += wouldDelete ? 1 : 0;
    missing += wouldDelete ? 0 : 1;
    await screen.record({ sessionId, wouldDelete, messages, ...(thread && { checkpoints: thread.checkpoints }) });
    const outcome = wouldDelete
      ? `would be deleted, ${counted(messages, "message")}${withThread(thread)}`
      : "there is no such session";
    await screen.line(`${printable(sessionId)}: ${outcome}`);
  }
  await screen.line(`${counted(found, "session")} would be deleted. Nothing was deleted (--dry-run).`);
  if (missing > 0) {
    return exitCodes.findings;
  }
  return found === 0 ? exitCodes.nothing : exitCodes.done;
}
