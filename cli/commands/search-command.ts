import { Command } from "commander";
import { MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { textOf } from "../../src/conversation/messages/content.js";
import type {
  FoundSession,
  SearchedRole,
  SessionSearch,
  SessionSearchOptions,
} from "../../src/memory/sessions/search-requests.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { reasonOf, UsageError } from "../failure.js";
import { counted, minute, whole } from "../figures.js";
import { collected, positiveOperand, timeOperand } from "../operands.js";
import { printable } from "../printable.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

interface SearchOptions extends ServerOptions {
  readonly owner?: string;
  readonly title?: string;
  readonly metadata?: readonly string[];
  readonly from?: number;
  readonly to?: number;
  readonly limit: number;
  readonly cursor?: string;
  readonly content?: boolean;
}

const roles: readonly SearchedRole[] = ["human", "ai", "tool", "system"];
/** Messages and milliseconds after which the command says how far it is. */
const [stepMessages, stepMs] = [1_000_000, 5_000];

/** `search`: sessions by title, metadata, time and text. */
export function searchCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[text]", "text that a message contains, in any case"))
    .option("--owner <owner>", "only sessions of this owner, by the owner's list")
    .option("--title <text>", "only sessions whose title contains this")
    .option("--metadata <key=value>", "only sessions with this value, as JSON or text; may be repeated", collected)
    .option("--from <time>", "last written then or later: 2026-11-23, or 7d for a week ago", timeOperand)
    .option("--to <time>", "last written before then", timeOperand)
    .option("--limit <number>", "at most this many", positiveOperand, 30)
    .option("--cursor <cursor>", "go on where an earlier search stopped")
    .option("--content", "show the text around what was found")
    .addHelpText(
      "after",
      "\nReads messages of all kinds, newest first, tool results included. Without a text\nno message is read.",
    );
  return {
    command,
    run: (context, options, [text]) => search(context, options as SearchOptions, text as string | undefined),
  };
}

type Asked = Omit<SessionSearchOptions, "limit" | "cursor">;

function askedBy(options: SearchOptions, text: string | undefined): Asked {
  const { owner, title, metadata, from, to } = options;
  if ([text, title, metadata, from, to].every((asked) => asked === undefined)) {
    throw new UsageError("search: give a text, or --title, --metadata, --from or --to.");
  }
  return {
    ...{ roles, maxMessages: stepMessages, maxMs: stepMs },
    ...(owner !== undefined && { owner }),
    ...(text !== undefined && { text }),
    ...(title !== undefined && { title }),
    ...(metadata !== undefined && { metadata: metadataOf(metadata) }),
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
  };
}

async function search(
  { screen, env, signal }: CommandContext,
  options: SearchOptions,
  text: string | undefined,
): Promise<ExitCode> {
  const asked = askedBy(options, text);
  const server = await openServer(options, env, (event) => noteSkipped(screen, event));
  const total = { found: 0, sessions: 0, messages: 0, skipped: 0 };
  try {
    for (let cursor: string | null | undefined = options.cursor; ;) {
      const limit = Math.min(1_000, options.limit - total.found);
      const page = await server.memory.sessions.search({ ...asked, limit, cursor });
      await show(screen, page, { text, content: options.content === true });
      total.found += page.sessions.length;
      total.sessions += page.searched.sessions;
      total.messages += page.searched.messages;
      total.skipped += page.searched.skipped;
      cursor = page.next;
      if (cursor === null || total.found >= options.limit || signal.aborted) {
        screen.note(summaryOf(total, page));
        return total.skipped > 0 ? exitCodes.findings : exitCodes.done;
      }
      screen.note(`${counted(total.messages, "message")} read, back to ${minute(page.reached)} UTC.`);
    }
  } finally {
    await server.close();
  }
}

function noteSkipped(screen: Screen, event: MemoryEvent): void {
  if (event.type === "session_skipped") {
    const { sessionId, error } = event;
    screen.note(printable(`${sessionId}: ${MemoryError.isInstance(error) ? reasonOf(error) : error.message}`));
  }
}

interface Shown {
  readonly text: string | undefined;
  readonly content: boolean;
}

async function show(screen: Screen, { sessions }: SessionSearch, { text, content }: Shown): Promise<void> {
  for (const session of sessions) {
    await screen.record(recordOf(session, content));
    await screen.line(printable(lineOf(session)));
    await (content && text !== undefined ? screen.line(`  ${excerptOf(session, text)}`) : undefined);
  }
}

function summaryOf(
  total: { readonly found: number; readonly sessions: number; readonly messages: number; readonly skipped: number },
  { next, reached }: SessionSearch,
): string {
  const read = total.messages > 0 ? ` and ${counted(total.messages, "message")}` : "";
  const left = total.skipped > 0 ? ` ${whole(total.skipped)} could not be read.` : "";
  const where = reached === undefined || next === null ? "" : ` It stopped at ${minute(reached)} UTC: `;
  const more = next === null ? "" : `${where === "" ? " " : where}--cursor ${next} goes on.`;
  return `${counted(total.found, "session")} found in ${counted(total.sessions, "session")}${read}.${left}${more}`;
}

function recordOf({ match, ...session }: FoundSession, content: boolean): object {
  const { position, at, message } = match ?? {};
  return {
    ...session,
    ...(message && {
      match: {
        position,
        ...(at !== undefined && { at }),
        role: message.getType(),
        ...(content && { text: message.text }),
      },
    }),
  };
}

function lineOf({ sessionId, owner, title, updatedAt, match }: FoundSession): string {
  const place = match && `message ${match.position}, ${match.message.getType()}`;
  return [sessionId, owner, title, `${minute(updatedAt)} UTC`, place].filter((part) => part).join("  ");
}

const around = 60;

/** The text around the first place that reads like what was sought; else its beginning. */
function excerptOf({ match }: FoundSession, text: string): string {
  const whole = textOf(match!.message);
  const at = Math.max(0, whole.toLowerCase().indexOf(text.toLowerCase()));
  const [from, to] = [Math.max(0, at - around), at + text.length + around];
  return printable(`${from > 0 ? "…" : ""}${whole.slice(from, to)}${to < whole.length ? "…" : ""}`);
}

function metadataOf(pairs: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const at = pair.indexOf("=");
      if (at < 1) {
        throw new UsageError("search: --metadata must be key=value.");
      }
      return [pair.slice(0, at), jsonOr(pair.slice(at + 1))];
    }),
  );
}

function jsonOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
