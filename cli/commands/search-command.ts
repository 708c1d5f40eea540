import { Command } from "commander";
import { MemoryError } from "../../src/base/errors.js";
import type { MemoryEvent } from "../../src/base/events.js";
import { textOf } from "../../src/conversation/messages/content.js";
import type { FoundSession, SearchedRole, SessionSearch } from "../../src/memory/sessions/search-requests.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode } from "../command.js";
import { reasonOf } from "../failure.js";
import { counted, minute, whole } from "../figures.js";
import { positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

interface SearchOptions extends ServerOptions {
  readonly owner?: string;
  readonly limit: number;
  readonly cursor?: string;
  readonly content?: boolean;
}

const roles: readonly SearchedRole[] = ["human", "ai", "tool", "system"];
/** Messages after which the command says how far it is. */
const stepMessages = 100_000;

/** `search`: sessions by a text. */
export function searchCommand(): CommandDefinition {
  const command = withServerOptions(
    new Command().argument("<text>", "text that a message or the title contains, in any case"),
  )
    .option("--owner <owner>", "only sessions of this owner, by the owner's list")
    .option("--limit <number>", "at most this many", positiveOperand, 30)
    .option("--cursor <cursor>", "go on where an earlier search stopped")
    .option("--content", "show the text around what was found")
    .addHelpText(
      "after",
      "\nReads messages of all kinds, newest first, tool results included.\nWithout --owner: sessions by their ids.",
    );
  return {
    command,
    run: (context, options, [text]) => search(context, options as SearchOptions, text as string),
  };
}

async function search(
  { screen, env, signal }: CommandContext,
  options: SearchOptions,
  text: string,
): Promise<ExitCode> {
  const { owner } = options;
  const request = { text, roles, maxMessages: stepMessages, ...(owner !== undefined && { owner }) };
  const server = await openServer(options, env, (event) => noteSkipped(screen, event));
  const total = { matches: 0, sessions: 0, messages: 0, skipped: 0 };
  try {
    for (let cursor: string | null | undefined = options.cursor; ;) {
      const limit = Math.min(1_000, options.limit - total.matches);
      const page = await server.memory.sessions.search({ ...request, limit, cursor });
      await show(screen, page, { text, content: options.content === true });
      total.matches += page.sessions.length;
      total.sessions += page.searched.sessions;
      total.messages += page.searched.messages;
      total.skipped += page.searched.skipped;
      cursor = page.next;
      if (cursor === null || total.matches >= options.limit || signal.aborted) {
        screen.note(summaryOf(total, cursor));
        return total.skipped > 0 ? exitCodes.findings : exitCodes.done;
      }
      screen.note(`${counted(total.messages, "message")} read.`);
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
  readonly text: string;
  readonly content: boolean;
}

async function show(screen: Screen, { sessions }: SessionSearch, { text, content }: Shown): Promise<void> {
  for (const session of sessions) {
    await screen.record(recordOf(session, content));
    await screen.line(printable(lineOf(session)));
    await (content && session.match ? screen.line(`  ${excerptOf(session, text)}`) : undefined);
  }
}

function summaryOf(
  total: { readonly matches: number; readonly sessions: number; readonly messages: number; readonly skipped: number },
  next: string | null,
): string {
  const read = total.messages > 0 ? ` and ${counted(total.messages, "message")}` : "";
  const left = total.skipped > 0 ? ` ${whole(total.skipped)} could not be read.` : "";
  const more = next === null ? "" : ` --cursor ${next} goes on.`;
  return `${counted(total.matches, "session")} found in ${counted(total.sessions, "session")}${read}.${left}${more}`;
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
