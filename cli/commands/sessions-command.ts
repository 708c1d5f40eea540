import { Command } from "commander";
import { allSessions, type FoundSession } from "../all-sessions.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { minute, until, whole } from "../figures.js";
import { interrupted } from "../interruption.js";
import { oneOf, positiveOperand } from "../operands.js";
import type { Column } from "../fitting-columns.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type ServerOptions } from "../server.js";

const orders = ["updated", "created", "messages", "rounds", "tokens"] as const;

interface SessionsOptions extends ServerOptions {
  readonly owner?: string;
  readonly match?: string;
  readonly minMessages?: number;
  readonly sort: (typeof orders)[number];
  readonly limit: number;
}

const columns: readonly Column[] = [
  { title: "session", cut: { order: 2, least: 12 } },
  { title: "owner", cut: { order: 1, least: 8 } },
  { title: "messages", align: "right" },
  { title: "rounds", align: "right", isSpare: true },
  { title: "tokens", align: "right", isSpare: true },
  { title: "updated (UTC)" },
  { title: "expires in", align: "right", isSpare: true },
  { title: "" },
];

/** `sessions`: a list of sessions. */
export function sessionsCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--owner <owner>", "only sessions of this owner")
    .option("--match <text>", "only sessions whose id holds this text")
    .option("--min-messages <number>", "only sessions with at least this many messages", positiveOperand)
    .option("--sort <order>", `newest or largest first, by ${orders.join(", ")}`, oneOf(orders), "updated")
    .option("--limit <number>", "at most this many", positiveOperand, 50);
  return { command, run: (context, options) => listSessions(context, options as SessionsOptions) };
}

async function listSessions({ screen, env, signal }: CommandContext, options: SessionsOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const { owner, match, minMessages = 0, sort, limit } = options;
    const first = new FirstOf(limit, orderBy(sort));
    let matching = 0;
    for await (const session of allSessions(server, { owner, signal })) {
      if (session.messages >= minMessages && (match === undefined || session.sessionId.includes(match))) {
        matching += 1;
        first.add(session);
      }
    }
    if (signal.aborted) {
      return interrupted(screen, "Nothing is listed, because not all sessions were looked at.");
    }
    await print(screen, first.items, matching);
    return exitCodes.done;
  } finally {
    await server.close();
  }
}

/** The first of many items in an order, without holding them all. */
class FirstOf<T> {
  readonly #limit: number;
  readonly #compare: (a: T, b: T) => number;
  #kept: T[] = [];

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  get items(): readonly T[] {
    return this.#trimmed();
  }

  add(item: T): void {
    this.#kept.push(item);
    if (this.#kept.length >= 2 * this.#limit + 100) {
      this.#trimmed();
    }
  }

  #trimmed(): readonly T[] {
    this.#kept = this.#kept.sort(this.#compare).slice(0, this.#limit);
    return this.#kept;
  }
}

function orderBy(sort: SessionsOptions["sort"]): (a: FoundSession, b: FoundSession) => number {
  const valueOf = {
    updated: ({ updatedAt }: FoundSession) => updatedAt,
    created: ({ createdAt }: FoundSession) => createdAt,
    messages: ({ messages }: FoundSession) => messages,
    rounds: ({ rounds }: FoundSession) => rounds,
    tokens: ({ tokens = -1 }: FoundSession) => tokens,
  }[sort];
  return (a, b) => valueOf(b) - valueOf(a) || (a.sessionId < b.sessionId ? -1 : 1);
}

async function print(screen: Screen, sessions: readonly FoundSession[], matching: number): Promise<void> {
  const now = Date.now();
  for (const { sessionId, owner, label, labelVersion: _, ...figures } of sessions) {
    const title = label.title;
    await screen.record({ sessionId, ...(owner && { owner }), ...(title !== undefined && { title }), ...figures });
  }
  if (sessions.length === 0) {
    await screen.line("No session was found. Check --prefix, and --owner or --match.");
    return;
  }
  const rows = sessions.map(({ sessionId, owner = "", messages, rounds, tokens, updatedAt, expiresAt, damaged }) => [
    sessionId,
    owner,
    whole(messages),
    whole(rounds),
    tokens === undefined ? "" : whole(tokens),
    minute(updatedAt),
    until(expiresAt, now),
    damaged ? "damaged" : "",
  ]);
  await screen.table(columns, rows);
  const more = matching > sessions.length ? "; --limit shows more" : "";
  await screen.line(`\n${whole(sessions.length)} of ${whole(matching)} sessions${more}.`);
  if (sessions.some(({ damaged }) => damaged)) {
    await screen.line("Redis lost a part of those marked damaged; check says what, and what helps.");
  }
}
