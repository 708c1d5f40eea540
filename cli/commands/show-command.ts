import { Command } from "commander";
import type { BaseMessage } from "@langchain/core/messages";
import type { MemoryEvent } from "../../src/base/events.js";
import type { HistoryStats, PageItem } from "../../src/memory/session/screen-pages.js";
import type { RedisChatMessageHistory } from "../../src/memory/histories/redis-chat-message-history.js";
import { roleOf } from "../../src/conversation/messages/message.js";
import { countOf } from "../../src/conversation/tokens/counted-messages.js";
import { tiktokenCounter } from "../../src/conversation/tokens/counters/tiktoken-counter.js";
import { describeSession } from "../all-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { damageOf, remainsOf, unreadableRecords } from "../damage.js";
import { DataError, noSession, UsageError } from "../failure.js";
import { counted, minute, whole } from "../figures.js";
import { contentOf, kindOf } from "../message-line.js";
import { positiveOperand } from "../operands.js";
import { printable } from "../printable.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { showThread } from "../shown-thread.js";

interface ShowOptions extends ServerOptions {
  readonly content?: boolean;
  readonly last?: number;
  readonly thread?: string;
}

const pageSize = 200;

/** `show`: a session as rounds, or the checkpoints of a LangGraph thread. */
export function showCommand(): CommandDefinition {
  const command = withServerOptions(new Command().argument("[session]", "the session's id"))
    .option("--thread <id>", "show the checkpoints of this LangGraph thread instead")
    .option("--content", "show the messages' text too; of a thread, what interrupts ask")
    .option("--last <number>", "only the last messages, or checkpoints", positiveOperand)
    .addHelpText(
      "after",
      "\nEach message: its position, ● if the model sees it or ○ if it has left the view,\n" +
        "tokens (as of o200k_base), and what it is. Each checkpoint, newest first: step,\n" +
        "source, time, id, the nodes that come next, the channels that changed since its\n" +
        "parent, and interrupts that wait for an answer.",
    );
  return {
    command,
    run: (context, options, [session]) => showNamed(context, options as ShowOptions, session as string | undefined),
  };
}

async function showNamed(context: CommandContext, options: ShowOptions, session: string | undefined) {
  const { thread } = options;
  if (thread !== undefined && session === undefined) {
    return showThread(context, { ...options, thread });
  }
  if (session === undefined || thread !== undefined) {
    throw new UsageError("show: name a session, or a LangGraph thread by --thread.");
  }
  return show(context, options, session);
}

async function show(context: CommandContext, options: ShowOptions, sessionId: string): Promise<ExitCode> {
  const { screen, env, signal } = context;
  const events: MemoryEvent[] = [];
  const server = await openServer(options, env, (event) => events.push(event));
  try {
    const history = server.memory.history(sessionId);
    const details = await describeSession(server, sessionId);
    const damage = details?.damaged && (await damageIn(server, sessionId));
    const stats = await history.stats();
    if (details === undefined && stats.messages === 0) {
      throw noSession("show", sessionId);
    }
    const { label, owner } = details ?? {};
    const title = label?.title;
    const names = { ...(owner && { owner }), ...(title !== undefined && { title }), ...(damage && { damage }) };
    await screen.record({ sessionId, ...names, ...stats });
    await printHeading(screen, { sessionId, owner, title, stats, damage });
    const lines = new MessageLines(screen, options.content === true);
    await printHead(history, stats, lines);
    for await (const item of itemsOf(history, stats, options.last)) {
      if (signal.aborted) {
        return interrupted(screen, "Not all messages are shown.");
      }
      await lines.print(item);
    }
    await printReductions(screen, history);
    return (await printUnreadable(screen, events)) ? exitCodes.findings : exitCodes.done;
  } finally {
    await server.close();
  }
}

/** @throws DataError where nothing can be read, because a key is none of the session's. */
async function damageIn(server: Server, sessionId: string): Promise<string | undefined> {
  const remains = await remainsOf(server, sessionId);
  const damage = remains && damageOf(remains).sentence;
  if (remains !== undefined && remains.foreign.size > 0) {
    throw new DataError(`show: the session ${JSON.stringify(sessionId)} cannot be read: ${damage}.`);
  }
  return damage;
}

/** Names what was left out; true where there is such a record. */
async function printUnreadable(screen: Screen, events: readonly MemoryEvent[]): Promise<boolean> {
  const unreadable = unreadableRecords(events);
  for (const record of unreadable) {
    await screen.record({ problem: "unreadable record", ...record });
    screen.note(printable(`Not shown: ${record.detail}`));
  }
  return unreadable.length > 0;
}

interface Heading {
  readonly sessionId: string;
  readonly owner: string | undefined;
  readonly title: string | undefined;
  readonly stats: HistoryStats;
  readonly damage: string | undefined;
}

async function printHeading(screen: Screen, heading: Heading): Promise<void> {
  const { sessionId, owner, title, stats, damage } = heading;
  const { messages, rounds, view, reductions, createdAt, updatedAt, expiresAt } = stats;
  const tokens = view.tokens === undefined ? "" : `, ${whole(view.tokens)} tokens`;
  const after = reductions === 0 ? "" : `, after ${counted(reductions, "reduction")}`;
  await screen.line(printable(sessionId), { paint: screen.colours.bold });
  const lines = [
    ["owner", owner],
    ["title", title],
    ["stored", `${counted(messages, "message")} in ${counted(rounds, "round")}`],
    ["model sees", `${counted(view.messages, "message")}${tokens}${after}`],
    ["created", minute(createdAt)],
    ["updated", minute(updatedAt)],
    ["expires", minute(expiresAt)],
    ["damaged", damage],
  ];
  for (const [name, text] of lines.filter(([, text]) => text)) {
    await screen.line(`  ${name!.padEnd(12)}${printable(text!)}`, { indent: 14 });
  }
}

/** The messages in front of the log: summaries, and what a reducer changed. */
async function printHead(history: RedisChatMessageHistory, stats: HistoryStats, lines: MessageLines): Promise<void> {
  if (stats.reductions === 0) {
    return;
  }
  const view = await history.getMessages();
  const inLog = new Set<string | undefined>();
  for await (const { message } of itemsOf(history, stats, undefined)) {
    inLog.add(message.id);
  }
  for (const message of view.filter(({ id }) => id === undefined || !inLog.has(id))) {
    await lines.print({ position: undefined, message, inView: true });
  }
}

async function* itemsOf(
  history: RedisChatMessageHistory,
  stats: HistoryStats,
  last: number | undefined,
): AsyncGenerator<PageItem> {
  let after = -1;
  if (last !== undefined && last < stats.messages) {
    const { items, previous } = await history.getPage({ limit: last, order: "log" });
    after = (items[0]?.position ?? previous ?? 0) - 1;
  }
  for (;;) {
    const page = await history.getPage({ after, limit: pageSize, order: "log" });
    yield* page.items;
    if (page.next === null) {
      return;
    }
    after = page.next;
  }
}

interface ShownMessage {
  readonly position: number | undefined;
  readonly at?: number;
  readonly message: BaseMessage;
  readonly inView: boolean;
}

/** Prints messages, each round behind its question, with an empty line before it. */
class MessageLines {
  readonly #screen: Screen;
  readonly #withContent: boolean;
  readonly #counter = tiktokenCounter();
  #isFirst = true;

  constructor(screen: Screen, withContent: boolean) {
    this.#screen = screen;
    this.#withContent = withContent;
  }

  async print({ position, at, message, inView }: ShownMessage): Promise<void> {
    const screen = this.#screen;
    const tokens = await countOf(this.#counter, message);
    const content = contentOf(message);
    await screen.record({
      ...(position !== undefined && { position }),
      ...(at !== undefined && { at }),
      kind: kindOf(message),
      id: message.id,
      inView,
      tokens,
      ...(this.#withContent && { content: content.join("\n") }),
    });
    const { dim, cyan } = screen.colours;
    const role = roleOf(message);
    if (role === "human" || this.#isFirst) {
      await screen.line();
    }
    this.#isFirst = false;
    const indent = role === "human" || position === undefined ? "" : "  ";
    const place = (position === undefined ? "head" : String(position)).padStart(5);
    const text = `${place} ${inView ? "●" : "○"} ${whole(tokens).padStart(7)}  ${indent}${kindOf(message)}`;
    await screen.line(text, { indent: 17 + indent.length, ...(!inView && { paint: dim }) });
    for (const line of this.#withContent ? content : []) {
      await screen.line(`${" ".repeat(17)}${indent}${line}`, { indent: 17 + indent.length, paint: cyan });
    }
  }
}

async function printReductions(screen: Screen, history: RedisChatMessageHistory): Promise<void> {
  const reductions = await history.getReductions();
  if (reductions.length === 0 || screen.isJson) {
    return;
  }
  await screen.line("\nReductions (UTC):");
  for (const { at, start, before, after } of reductions) {
    const sizes = `${whole(before.messages)} → ${whole(after.messages)} messages`;
    const tokens =
      before.tokens === undefined || after.tokens === undefined
        ? ""
        : `, ${whole(before.tokens)} → ${whole(after.tokens)} tokens`;
    await screen.line(`  ${minute(at)}  ${sizes}${tokens}; the log is seen from ${start} on`, { indent: 20 });
  }
}
