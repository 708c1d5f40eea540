import { stat } from "node:fs/promises";
import { Command } from "commander";
import { MemoryError } from "../../src/base/errors.js";
import { importSessions } from "../../src/memory/sessions/import-sessions.js";
import { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { reasonOf } from "../failure.js";
import { counted, whole } from "../figures.js";
import { chatFormats, conversationsIn, type ChatFormat } from "../import/chat-files.js";
import { storeConversation } from "../import/store-conversation.js";
import { linesOfFile } from "../lines-of-file.js";
import { oneOf, positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

const formats = ["own", ...chatFormats] as const;

interface ImportOptions extends ServerOptions {
  readonly format: "own" | ChatFormat;
  readonly keepGoing?: boolean;
  readonly ttl?: number;
}

/** `import`: sessions from a file. */
export function importCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("<file>", "the file; - is standard input"))
    .option("--format <format>", formats.join(", "), oneOf(formats), "own")
    .option("--keep-going", "go on after what cannot be imported")
    .option("--ttl <seconds>", "sessions expire after this time (default: as exported, else never)", positiveOperand)
    .addHelpText("after", helpText);
  return { command, run: (context, options, [file]) => importFile(context, options as ImportOptions, file as string) };
}

const helpText = `
Formats:
  own              what \`export\` wrote
  openai           a conversation a line: { "messages": [...] } in OpenAI's chat
                   format, as for fine-tuning; its "sessionId", else its "id",
                   is the session's id
  message-history  the same, or the list that JSON.stringify(messageHistory)
                   gives
  semantic-kernel  a ChatHistory as .NET or Python serializes it
  langgraph        the state of a thread: messages in values, channel_values or
                   by themselves
The last three may be a whole file or one a line. Without an id a conversation
gets the file's name, and -<line> where it is one of several: chats-12.
What is imported is encrypted under the first key where there are keys, else it
is plain text.
A session is imported whole or not at all. One that is there with the same
content is left as it is, so the same import again adds nothing; with other
content it is refused.`;

/** The outcome of a session. */
interface Outcome {
  readonly line: number;
  readonly sessionId: string;
  /** Set for a thread, whose id is `sessionId`, and for an item of long-term memory. */
  readonly kind?: "thread" | "item";
  readonly outcome: "imported" | "unchanged" | "expired" | "failed";
  readonly messages: number;
  readonly reason?: string;
}

type Tally = Record<Outcome["outcome"] | "threads" | "items" | "messages", number>;

async function importFile(context: CommandContext, options: ImportOptions, file: string): Promise<ExitCode> {
  const { screen, env, signal } = context;
  const server = await openServer(options, env);
  const tally: Tally = {
    ...{ imported: 0, threads: 0, items: 0, messages: 0 },
    ...{ unchanged: 0, expired: 0, failed: 0 },
  };
  const total = await sizeOf(file);
  const bar = new ProgressBar(screen, { total, unit: total === undefined ? "lines" : "bytes" });
  const onLine = (end: number) => (total === undefined ? bar.advance() : bar.reach(end));
  let isStopped = false;
  try {
    for await (const outcome of outcomesOf({ server, file, signal, onLine }, options)) {
      if (signal.aborted) {
        break;
      }
      const { kind } = outcome;
      tally[kind !== undefined && outcome.outcome === "imported" ? (`${kind}s` as const) : outcome.outcome] += 1;
      tally.messages += outcome.outcome === "imported" ? outcome.messages : 0;
      await report(screen, file, outcome);
      isStopped = outcome.outcome === "failed" && options.keepGoing !== true;
      if (isStopped) {
        break;
      }
    }
  } finally {
    bar.stop();
    await server.close();
  }
  await summarize(screen, tally, { isStopped, isInterrupted: signal.aborted });
  if (tally.failed > 0) {
    return exitCodes.findings;
  }
  const isEmpty = Object.values(tally).every((count) => count === 0);
  return isEmpty ? exitCodes.nothing : exitCodes.done;
}

/** The size of a file; undefined for standard input, and for pipes. */
async function sizeOf(path: string): Promise<number | undefined> {
  const file = path === "-" ? undefined : await stat(path).catch(() => undefined);
  return file?.isFile() ? file.size : undefined;
}

interface Import {
  readonly server: Server;
  readonly file: string;
  readonly signal: AbortSignal;
  /** Called with the end of the line that is read next, in bytes of the file. */
  onLine(end: number): void;
}

async function* outcomesOf(source: Import, { format, ttl }: ImportOptions): AsyncGenerator<Outcome> {
  const { server, file, signal } = source;
  if (format === "own") {
    const ttlMs = ttl === undefined ? undefined : ttl * 1_000;
    for await (const { error, ...done } of importSessions(server.store, ownLines(source), ttlMs)) {
      yield { ...done, ...(error && { reason: shortReason(error) }) };
    }
    return;
  }
  const memory = new RedisChatMemory({ store: server.store, ...(ttl !== undefined && { sessionTTL: ttl }) });
  for await (const { line, sessionId, messages, problem, end } of conversationsIn(file, format)) {
    source.onLine(end);
    const place = { line, sessionId, messages: messages.length };
    if (signal.aborted) {
      return;
    }
    yield problem === undefined
      ? { ...place, ...(await stored(memory, { sessionId, messages })) }
      : { ...place, outcome: "failed", reason: `${problem}.` };
  }
}

async function* ownLines({ file, signal, onLine }: Import): AsyncGenerator<string> {
  let before = 0;
  for await (const { number, text, offset, length } of linesOfFile(file)) {
    if (signal.aborted) {
      return;
    }
    // Lines are counted as in the file.
    for (; before + 1 < number; before += 1) {
      yield "";
    }
    before = number;
    onLine(offset + length);
    yield text;
  }
}

async function stored(
  memory: RedisChatMemory,
  { sessionId, messages }: ToStore,
): Promise<Pick<Outcome, "outcome" | "reason">> {
  try {
    return { outcome: await storeConversation(memory, sessionId, messages) };
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return { outcome: "failed", reason: shortReason(error) };
  }
}

interface ToStore {
  readonly sessionId: string;
  readonly messages: Parameters<typeof storeConversation>[2];
}

function shortReason(error: MemoryError): string {
  const sentence = reasonOf(error)
    .replace(/, at line \d+;/, ";")
    .replace(/^Line \d+ of the export cannot be imported: /, "");
  return sentence.charAt(0).toLowerCase() + sentence.slice(1);
}

async function report(screen: Screen, file: string, { line, reason, ...outcome }: Outcome): Promise<void> {
  await screen.record({ file, line, ...outcome, ...(reason !== undefined && { reason }) });
  if (reason !== undefined) {
    const session =
      outcome.sessionId === "" ? "" : ` ${outcome.kind ?? "session"} ${JSON.stringify(outcome.sessionId)}:`;
    await screen.line(printable(`${file}:${line}:${session} ${reason}`));
  }
}

async function summarize(
  screen: Screen,
  { imported, threads, items, messages, unchanged, expired, failed }: Tally,
  { isStopped, isInterrupted }: { readonly isStopped: boolean; readonly isInterrupted: boolean },
): Promise<void> {
  await screen.line(
    `${counted(imported, "session")} imported with ${counted(messages, "message")}, ` +
      `${whole(unchanged)} there already.`,
  );
  if (threads + items > 0) {
    const others = [
      ["thread", threads],
      ["item", items],
    ] as const;
    const beside = others.flatMap(([noun, count]) => (count > 0 ? counted(count, noun) : []));
    await screen.line(`${beside.join(" and ")} imported.`);
  }
  if (expired > 0) {
    await screen.line(`${counted(expired, "session")} had expired and were left out; --ttl imports them.`);
  }
  if (failed > 0) {
    await screen.line(`${counted(failed, "session")} not imported; see above.`);
  }
  if (isStopped) {
    screen.note("Stopped there. Mend the file, or add --keep-going, and run the same command again to go on.");
  }
  if (isInterrupted) {
    screen.note("Interrupted. Run the same command again to go on; what is imported is not imported again.");
  }
}
