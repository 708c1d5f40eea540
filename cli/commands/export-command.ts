import { Command } from "commander";
import { MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { exportData } from "../../src/memory/sessions/item-lines.js";
import { MessageHistory } from "../../src/formats/openai/message-history.js";
import { allSessions, describeSession } from "../all-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { damageOf, problemOf, remainsOf, unreadableRecords } from "../damage.js";
import { DataError, reasonOf, UsageError } from "../failure.js";
import { counted, whole } from "../figures.js";
import type { MessagePage, PageItem } from "../../src/memory/session/screen-pages.js";
import { namespaceHelp, namespaceOperand, oneOf, refuseNamespace } from "../operands.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { damageIn } from "../threads.js";
import { WholeFile } from "../whole-file.js";

const formats = ["own", "openai", "message-history"] as const;
const pageSize = 500;

interface ExportOptions extends ServerOptions {
  readonly all?: boolean;
  readonly owner?: string;
  readonly format: (typeof formats)[number];
  readonly out?: string;
}

/** `export`: sessions to standard output, or to a file. */
export function exportCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[sessions...]", "ids of sessions"))
    .option("--all", "every session")
    .option("--owner <owner>", "every session of this owner")
    .option("--namespace <labels>", namespaceHelp, namespaceOperand)
    .option("--format <format>", formats.join(", "), oneOf(formats), "own")
    .option("--out <file>", "write to this file, which is complete or absent (default: standard output)")
    .addHelpText("after", helpText);
  return {
    command,
    run: (context, options, [sessions]) => exportSessions(context, options as ExportOptions, sessions as string[]),
  };
}

const helpText = `
Formats, always lines of JSON:
  own              all that is stored, several lines a session; import takes
                   it without loss
  openai           a session a line, { "sessionId", "messages" }, with the
                   fields of OpenAI's chat API only, as for fine-tuning
  message-history  the same with ids, metadata and timestamps, for
                   MessageHistory
openai and message-history hold the transcript; own holds what the model sees,
too.`;

/** Escapes mean the same in JSON, and a terminal obeys none of them. */
function standardOutput(screen: Screen): Exporting["target"] {
  const isTerminal = screen.width !== undefined;
  return { write: (text) => screen.write(isTerminal ? printable(text, { lines: true }) : text) };
}

async function exportSessions(context: CommandContext, options: ExportOptions, named: string[]): Promise<ExitCode> {
  const everything = options.all === true || options.owner !== undefined;
  if (everything === named.length > 0) {
    throw new UsageError("export: name sessions, or give --all or --owner.");
  }
  refuseNamespace("export", options);
  const events: MemoryEvent[] = [];
  const server = await openServer(options, context.env, (event) => events.push(event));
  try {
    const file = options.out === undefined ? undefined : await WholeFile.create(options.out);
    try {
      const bar = await progress(server, named, { context, options });
      const exporting = { server, context, events, bar, target: file ?? standardOutput(context.screen) };
      const exitCode = await exportAll(exporting, everything ? undefined : named, options);
      await (exitCode === exitCodes.interrupted ? file?.discard() : putInPlace(file, exitCode, context));
      return exitCode;
    } catch (error) {
      await file?.discard();
      throw error;
    }
  } finally {
    await server.close();
  }
}

/** The file takes its place unless nothing was exported: an earlier one may be the last good backup. */
async function putInPlace(file: WholeFile | undefined, exitCode: ExitCode, { screen }: CommandContext): Promise<void> {
  if (file?.isEmpty === true) {
    await file.discard();
    screen.note(printable(`Nothing was written to ${file.path}, which stays as it was.`));
    return;
  }
  await file?.complete();
  if (file !== undefined && exitCode === exitCodes.findings) {
    screen.note(printable(`${file.path} holds what could be exported; see above for the rest.`));
  }
}

/** `named` is undefined for every session. */
async function exportAll(
  parts: Omit<Exporting, "note">,
  named: readonly string[] | undefined,
  options: ExportOptions,
): Promise<ExitCode> {
  const { context, bar } = parts;
  const { screen, signal } = context;
  let [failed, sessions, others] = [0, 0, noOthers];
  const note = (sessionId: string, reason: string) => {
    failed += 1;
    screen.note(printable(`${sessionId}: ${reason}`));
  };
  try {
    const seen = new Set<string>();
    for await (const isWritten of writeSessions({ ...parts, note }, named, { ...options, seen })) {
      sessions += isWritten ? 1 : 0;
    }
    others =
      named === undefined && options.format === "own" ? await writeOthers({ ...parts, note }, options, seen) : noOthers;
  } finally {
    bar.stop();
  }
  const counts = [
    ["session", sessions],
    ["thread", others.thread],
    ["item", others.item],
  ] as const;
  const done = counts
    .flatMap(([noun, count]) => (count > 0 || noun === "session" ? [counted(count, noun)] : []))
    .join(" and ");
  if (signal.aborted) {
    const partly = `The export holds ${done} and is not complete; run the same command again.`;
    return interrupted(screen, options.out === undefined ? partly : "Nothing was written; run the same command again.");
  }
  screen.note(`${done} exported${failed > 0 ? `, ${counted(failed, "problem")}` : ""}.`);
  if (failed > 0) {
    return exitCodes.findings;
  }
  return sessions + others.thread + others.item === 0 ? exitCodes.nothing : exitCodes.done;
}

/** Yields of each session whether something of it was written, and adds its id to `seen`. */
async function* writeSessions(
  exporting: Exporting,
  named: readonly string[] | undefined,
  { seen, ...options }: ExportOptions & { readonly seen: Set<string> },
): AsyncGenerator<boolean> {
  const { server, context, note } = exporting;
  for await (const sessionId of named ?? namesOf(server, options, context.signal)) {
    if (context.signal.aborted) {
      return;
    }
    seen.add(sessionId);
    try {
      yield await write(exporting, sessionId, { ...options, isNamed: named !== undefined });
    } catch (error) {
      if (!(error instanceof DataError) && (!MemoryError.isInstance(error) || isRetryable(error))) {
        throw error;
      }
      note(sessionId, MemoryError.isInstance(error) ? await problemOf(server, sessionId, error) : error.message);
    }
  }
}

/** The numbers of what an export holds beside sessions. */
const noOthers = { thread: 0, item: 0 };

/** Writes all threads and items, or those of the owner and of these sessions of theirs, and returns their numbers. */
async function writeOthers(
  { server, context, target, note }: Exporting,
  { owner, namespace }: ExportOptions,
  sessions: ReadonlySet<string>,
): Promise<typeof noOthers> {
  const counts = { ...noOthers };
  const wanted = { owner, sessions, namespaces: namespace ?? [] };
  for await (const { id, kind, line, error } of exportData(server.store, wanted)) {
    if (context.signal.aborted) {
      break;
    }
    if (line !== undefined) {
      await target.write(`${line}\n`);
      counts[kind === "item" ? "item" : "thread"] += 1;
    } else if (MemoryError.isInstance(error) && !isRetryable(error)) {
      const damage = kind === "thread" ? damageIn(error) : undefined;
      note(kind === "item" ? "long-term memory" : `thread ${id}`, damage ?? reasonOf(error));
    } else {
      throw error;
    }
  }
  return counts;
}

/** Messages are counted first only where somebody sees it: not beside conversations on a terminal. */
async function progress(
  server: Server,
  named: readonly string[],
  { context, options }: { readonly context: CommandContext; readonly options: ExportOptions },
): Promise<ProgressBar> {
  const { screen, signal } = context;
  if (!screen.showsProgress || (screen.width !== undefined && options.out === undefined)) {
    return new ProgressBar(undefined, { total: undefined, unit: "messages" });
  }
  let total = 0;
  const list = named.length > 0 ? sessionsNamed(server, named) : allSessions(server, { owner: options.owner, signal });
  for await (const session of list) {
    total += session?.messages ?? 0;
  }
  return new ProgressBar(screen, { total, unit: "messages" });
}

async function* sessionsNamed(server: Server, named: readonly string[]) {
  for (const sessionId of named) {
    yield await describeSession(server, sessionId);
  }
}

interface Written extends ExportOptions {
  /** True for a session that the user named: it must exist. */
  readonly isNamed: boolean;
}

/** False where nothing of the session was written. */
async function write(exporting: Exporting, sessionId: string, options: Written): Promise<boolean> {
  const remains = await remainsOf(exporting.server, sessionId);
  if (options.isNamed && remains === undefined) {
    throw new DataError("there is no session of this id; check --prefix.");
  }
  if (remains !== undefined && remains.messages === 0 && remains.missing.has("state")) {
    throw new DataError(`damaged: ${damageOf(remains).sentence}`);
  }
  exporting.events.length = 0;
  return options.format === "own"
    ? writeOwn(exporting, sessionId, remains?.messages ?? 0)
    : writeChat(exporting, sessionId, options);
}

function isRetryable(error: MemoryError): boolean {
  return error.retryable && error.code !== "stale";
}

async function* namesOf(server: Server, { owner }: ExportOptions, signal: AbortSignal): AsyncGenerator<string> {
  for await (const { sessionId } of allSessions(server, { owner, signal })) {
    yield sessionId;
  }
}

interface Exporting {
  readonly server: Server;
  readonly target: { write(text: string): Promise<void> };
  readonly bar: ProgressBar;
  readonly context: CommandContext;
  readonly note: (sessionId: string, reason: string) => void;
  /** Events of the reads of one session. */
  readonly events: MemoryEvent[];
}

const chunkLength = 65_536;

/** A session that cannot be read whole has no `end` line, so that `import` leaves it out. */
async function writeOwn(exporting: Exporting, sessionId: string, left: number): Promise<boolean> {
  const { server, context, note, target, bar } = exporting;
  const { signal } = context;
  let [text, lines, last, isDamaged] = ["", 0, "", false];
  try {
    for await (const line of server.memory.sessions.export(sessionId)) {
      if (signal.aborted) {
        break;
      }
      isDamaged ||= lines === 0 && (JSON.parse(line) as { damaged?: boolean }).damaged === true;
      lines += 1;
      last = line;
      bar.advance(line.startsWith('{"type":"record"') ? 1 : 0);
      text += `${line}\n`;
      if (text.length > chunkLength) {
        await target.write(text);
        text = "";
      }
    }
  } catch (error) {
    await target.write(text);
    throw error;
  }
  await target.write(text);
  if (isDamaged) {
    note(sessionId, damagedNote((JSON.parse(last) as { records?: number }).records ?? 0, left));
  }
  return lines > 0;
}

function damagedNote(exported: number, left: number): string {
  return exported >= left
    ? "damaged: a part of it is missing in Redis; what is left was exported"
    : `damaged: only ${whole(exported)} of the ${counted(left, "message")} that are left can be read; ` +
        "run rebuild, then export it again";
}

/** A session as a line of one object, page by page: it may be too long for a string. */
async function writeChat(exporting: Exporting, sessionId: string, { format }: ExportOptions): Promise<boolean> {
  const { target, bar, context } = exporting;
  const history = exporting.server.memory.history(sessionId);
  let [read, written] = [0, 0];
  let after: number | null = -1;
  while (after !== null && !context.signal.aborted) {
    const { items, next }: MessagePage = await history.getPage({ after, limit: pageSize, order: "log" });
    const messages = items.flatMap((item) => chatFormOf(item, { exporting, sessionId, format }));
    const start = written === 0 ? `{"sessionId":${JSON.stringify(sessionId)},"messages":[` : ",";
    if (messages.length > 0) {
      await target.write(start + messages.map((message) => JSON.stringify(message)).join(","));
    }
    bar.advance(items.length);
    read += items.length;
    written += messages.length;
    after = next;
  }
  await target.write(written === 0 ? "" : "]}\n");
  await reportLeftOut(exporting, sessionId, read);
  return written > 0;
}

interface ChatForm {
  readonly exporting: Exporting;
  readonly sessionId: string;
  readonly format: ExportOptions["format"];
}

function chatFormOf({ position, message }: PageItem, { exporting, sessionId, format }: ChatForm) {
  try {
    const chat = MessageHistory.fromMessages([message]);
    return format === "openai" ? chat.toOpenAIFormat() : chat.toList();
  } catch (error) {
    if (!MemoryError.isInstance(error)) {
      throw error;
    }
    exporting.note(sessionId, `message ${position} was left out: it has no form in OpenAI's chat format.`);
    return [];
  }
}

/** `read` is how many messages could be read. */
async function reportLeftOut({ server, events, note }: Exporting, sessionId: string, read: number): Promise<void> {
  const unreadable = unreadableRecords(events);
  unreadable.forEach(({ detail }) => note(sessionId, `left out: ${detail}`));
  if (events.some(({ type }) => type === "damaged")) {
    const left = (await remainsOf(server, sessionId))?.messages ?? 0;
    note(sessionId, damagedNote(read + unreadable.length, left));
  } else if (read === 0 && unreadable.length === 0) {
    note(sessionId, "there are no messages in it.");
  }
}
