import { Command } from "commander";
import { EncryptionError, MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { builtInProfiles, type BuiltInProfile } from "../../src/conversation/structure/profiles/built-in-profiles.js";
import { validateConversation } from "../../src/conversation/structure/validate.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { damageOf, problemOf, remainsOf, unreadableRecords, type Remains } from "../damage.js";
import { reasonOf, UsageError } from "../failure.js";
import { Tally, printTotals, type Finding, type Look } from "../check-tally.js";
import { checkThread } from "../checked-thread.js";
import { counted } from "../figures.js";
import { oneOf } from "../operands.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { foundPieces, problemsOf, type FoundPiece, type ReadKind } from "../../src/store/redis-lists/kinds.js";
import { wireOfServer } from "../threads.js";

const profiles = Object.keys(builtInProfiles) as BuiltInProfile[];

interface CheckOptions extends ServerOptions {
  readonly all?: boolean;
  readonly thread?: string;
  readonly profile: BuiltInProfile;
  readonly warnings?: boolean;
}

/** Something wrong with a session. */
interface SessionFinding extends Finding {
  readonly sessionId: string;
  readonly problem: "missing" | "damaged" | "unreadable record" | "structure" | "unreadable";
  /** Place in the view for `structure`, in the log for an unreadable record. */
  readonly position?: number;
}

/** `check`: damage in Redis, and what a model would refuse. */
export function checkCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[sessions...]", "ids of sessions"))
    .option("--thread <id>", "check this LangGraph thread")
    .option("--all", "check every session and every thread")
    .option("--profile <name>", `rules of ${profiles.join(", ")}`, oneOf(profiles), "langchain")
    .option("--warnings", "show warnings too")
    .addHelpText(
      "after",
      "\nStructure is checked in the view, as it is stored. What goes to a model is\n" +
        "repaired on its way, so a finding there is no failure of a turn; damage is. Of a\n" +
        "thread, every checkpoint is read with its writes.",
    );
  return {
    command,
    run: (context, options, [sessions]) => check(context, options as CheckOptions, sessions as string[]),
  };
}

async function check(
  { screen, env, signal }: CommandContext,
  options: CheckOptions,
  named: readonly string[],
): Promise<ExitCode> {
  const { all = false, thread } = options;
  if (all === (named.length > 0 || thread !== undefined)) {
    throw new UsageError("check: name sessions, or a LangGraph thread by --thread, or give --all.");
  }
  const events: MemoryEvent[] = [];
  const server = await openServer(options, env, (event) => events.push(event));
  const total = named.length + (thread === undefined ? 0 : 1);
  const bar = new ProgressBar(screen, {
    total: all ? undefined : total,
    unit: all || thread !== undefined ? "ids" : "sessions",
  });
  const tallies = {
    session: new Tally(screen, "session", options),
    thread: new Tally(screen, "thread", options),
    other: new Tally(screen, "store", options),
  };
  try {
    for await (const piece of piecesOf(server, named, options)) {
      if (signal.aborted) {
        break;
      }
      await note({ server, options, events }, piece, tallies);
      bar.advance();
    }
  } finally {
    bar.stop();
    await server.close();
  }
  return summarize(screen, { ...tallies, isOfThread: thread !== undefined && named.length === 0 }, signal);
}

interface Tallies extends Record<ReadKind | "other", Tally> {
  /** True where no session was asked for. */
  readonly isOfThread?: boolean;
}

/** The readers of the kinds that the table leaves to this command. */
const readers: Record<ReadKind, (parts: Parts, id: string) => Promise<Look>> = {
  session: ({ server, options, events }, sessionId) => look(server, { sessionId, options, events }),
  thread: ({ server, options }, threadId) => checkThread(server, threadId, { isNamed: options.all !== true }),
};

interface Parts {
  readonly server: Server;
  readonly options: CheckOptions;
  readonly events: MemoryEvent[];
}

async function note(parts: Parts, { kind, id }: FoundPiece, tallies: Tallies): Promise<void> {
  if (kind === "session" || kind === "thread") {
    return tallies[kind].note(await readers[kind](parts, id), kind === "session" ? id : `thread ${id}`);
  }
  const problems = await problemsOf(wireOfServer(parts.server), { kind, id });
  const all = problems.map((detail) => ({ kind, problem: "unreadable", severity: "error" as const, detail }));
  return tallies.other.note({ isOpened: true, all }, kind);
}

async function summarize(
  screen: Screen,
  { session: sessions, thread: threads, other, isOfThread }: Tallies,
  signal: AbortSignal,
): Promise<ExitCode> {
  await sessions.printLacking();
  await threads.printLacking();
  const areThreads = threads.checked + threads.unopened > 0;
  const nouns = [
    ...(isOfThread ? [] : [counted(sessions.checked, "session")]),
    ...(areThreads ? [counted(threads.checked, "thread")] : []),
  ];
  await printTotals(screen, [sessions, threads, other], nouns.join(" and "));
  if (signal.aborted) {
    return interrupted(screen, "Not all sessions were checked.");
  }
  if (sessions.errors + threads.errors + other.errors > 0) {
    return exitCodes.findings;
  }
  return sessions.findingCount > 0 ? exitCodes.warnings : exitCodes.done;
}

/** The named sessions and thread, or all that the table of kinds knows, each once. */
async function* piecesOf(
  server: Server,
  named: readonly string[],
  { all, thread }: CheckOptions,
): AsyncGenerator<FoundPiece> {
  yield* named.map((id) => ({ kind: "session" as const, id }));
  yield* thread === undefined ? [] : [{ kind: "thread" as const, id: thread }];
  for await (const page of all ? foundPieces(wireOfServer(server)) : []) {
    yield* page;
  }
}

interface Checked {
  readonly sessionId: string;
  readonly options: CheckOptions;
  /** Events of this command's reads; emptied here. */
  readonly events: MemoryEvent[];
}

const pageSize = 500;

async function look(server: Server, { sessionId, options, events }: Checked): Promise<Look> {
  const remains = await remainsOf(server, sessionId);
  if (remains === undefined && options.all === true) {
    return { isOpened: false, all: [] };
  }
  if (remains === undefined) {
    const detail = "there is no session of this id; check --prefix";
    const missing: SessionFinding = { sessionId, problem: "missing", severity: "error", detail };
    return { isOpened: false, all: [missing] };
  }
  events.length = 0;
  const { memory } = server;
  const history = memory.history(sessionId);
  try {
    const view = await history.getMessages();
    let after: number | null = -1;
    while (after !== null) {
      ({ next: after } = await history.getPage({ after, limit: pageSize }));
    }
    const issues = validateConversation(view, { profile: options.profile });
    const structure = issues.map(({ rule, severity, index, message }): SessionFinding => ({
      ...{ sessionId, problem: "structure" as const, severity, position: index, detail: `${rule}: ${message}` },
    }));
    return { isOpened: true, all: [...(await damageIn(server, { sessionId, remains, events })), ...structure] };
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return { isOpened: false, all: [await failure(server, sessionId, error)] };
  }
}

/** The finding of a session that could not be opened. */
async function failure(server: Server, sessionId: string, error: MemoryError): Promise<SessionFinding> {
  if (error.code === "wrong_type") {
    const detail = await problemOf(server, sessionId, error);
    return { sessionId, problem: "damaged", severity: "error", detail };
  }
  const keyId = EncryptionError.isInstance(error) && error.code === "unknown_key" ? error.keyId : undefined;
  const finding = { sessionId, problem: "unreadable", severity: "error", detail: reasonOf(error) } as const;
  return { ...finding, ...(keyId !== undefined && { keyId }) };
}

async function damageIn(
  server: Server,
  { sessionId, remains: before, events }: Pick<Checked, "sessionId" | "events"> & { readonly remains: Remains },
): Promise<SessionFinding[]> {
  const findings: SessionFinding[] = [];
  // The index of its messages alone is no session to the library: it reports no damage.
  const isDamaged = events.some(({ type }) => type === "damaged") || before.missing.has("state");
  const remains = isDamaged ? await remainsOf(server, sessionId) : undefined;
  if (remains !== undefined) {
    findings.push({ sessionId, problem: "damaged", severity: "error", detail: damageOf(remains).sentence });
  }
  const unreadable = unreadableRecords(events).map((record) => ({
    ...{ sessionId, problem: "unreadable record" as const, severity: "error" as const, ...record },
  }));
  return [...findings, ...unreadable];
}
