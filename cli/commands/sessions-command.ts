import { Command } from "commander";
import { sessionKeys } from "../../src/store/redis/keys.js";
import { allSessions, type FoundSession } from "../all-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { bytes, minute, until, whole } from "../figures.js";
import { oneOf, positiveOperand, sizeOperand, spanOperand } from "../operands.js";
import type { Column } from "../fitting-columns.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { sizeOfSession } from "../session-memory.js";

const orders = ["updated", "created", "messages", "rounds", "tokens", "size"] as const;

interface SessionsOptions extends ServerOptions {
  readonly owner?: string;
  readonly match?: string;
  readonly minMessages?: number;
  readonly olderThan?: number;
  readonly newerThan?: number;
  readonly expiresWithin?: number;
  readonly expiry?: boolean;
  readonly minSize?: number;
  readonly damaged?: boolean;
  readonly encrypted?: boolean;
  readonly sort: (typeof orders)[number];
  readonly limit: number;
}

const columns: readonly Column[] = [
  { title: "session", cut: { order: 2, least: 36 }, isWhole: true },
  { title: "owner", cut: { order: 1, least: 8 } },
  { title: "title", cut: { order: 0, least: 8 }, isSpare: true },
  { title: "messages", align: "right" },
  { title: "rounds", align: "right", isSpare: true },
  { title: "tokens", align: "right", isSpare: true },
  { title: "size", align: "right" },
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
    .option("--older-than <span>", "only sessions last written longer ago than this, such as 30d", spanOperand)
    .option("--newer-than <span>", "only sessions last written since then", spanOperand)
    .option("--expires-within <span>", "only sessions that expire within this", spanOperand)
    .option("--no-expiry", "only sessions that do not expire")
    .option("--min-size <size>", "only sessions that take at least this in Redis, such as 500kB", sizeOperand)
    .option("--damaged", "only sessions of which Redis lost a part")
    .option("--encrypted", "only sessions that are encrypted")
    .option("--sort <order>", `newest or largest first, by ${orders.join(", ")}`, oneOf(orders), "updated")
    .option("--limit <number>", "at most this many", positiveOperand, 50);
  return { command, run: (context, options) => listSessions(context, options as SessionsOptions) };
}

async function listSessions({ screen, env, signal }: CommandContext, options: SessionsOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const { owner, sort, limit } = options;
    const first = new FirstOf(limit, orderBy(sort));
    let matching = 0;
    for await (const session of allSessions(server, { owner, signal })) {
      const listed = isWanted(session, options) ? await measured(server, session, options) : undefined;
      if (listed !== undefined) {
        matching += 1;
        first.add(listed);
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

/** A session with what is only asked of Redis where an option needs it. */
interface ShownSession extends FoundSession {
  readonly bytes?: number;
}

/** By what is known of each session. */
function isWanted(session: FoundSession, options: SessionsOptions): boolean {
  const { match, minMessages = 0, olderThan, newerThan, expiresWithin, expiry, damaged } = options;
  const { sessionId, messages, updatedAt, expiresAt } = session;
  const [age, left] = [Date.now() - updatedAt, (expiresAt ?? Infinity) - Date.now()];
  return (
    messages >= minMessages &&
    (match === undefined || sessionId.includes(match)) &&
    (olderThan === undefined || age > olderThan) &&
    (newerThan === undefined || age <= newerThan) &&
    (expiresWithin === undefined || left <= expiresWithin) &&
    (expiry !== false || expiresAt === undefined) &&
    (damaged !== true || session.damaged === true)
  );
}

/** The session with its size; undefined for one that is too small, or not encrypted. */
async function measured(
  { client, keyPrefix }: Server,
  session: FoundSession,
  { minSize, sort, encrypted }: SessionsOptions,
): Promise<ShownSession | undefined> {
  const { sessionId } = session;
  if (encrypted === true && (await client.hget(sessionKeys(keyPrefix, sessionId).state, "key")) === null) {
    return undefined;
  }
  if (minSize === undefined && sort !== "size") {
    return session;
  }
  const size = await sizeOfSession({ client, keyPrefix }, sessionId);
  return size < (minSize ?? 0) ? undefined : { ...session, bytes: size };
}

function orderBy(sort: SessionsOptions["sort"]): (a: ShownSession, b: ShownSession) => number {
  const valueOf = {
    updated: ({ updatedAt }: FoundSession) => updatedAt,
    created: ({ createdAt }: FoundSession) => createdAt,
    messages: ({ messages }: FoundSession) => messages,
    rounds: ({ rounds }: FoundSession) => rounds,
    tokens: ({ tokens = -1 }: FoundSession) => tokens,
    size: ({ bytes: size = -1 }: ShownSession) => size,
  }[sort];
  return (a, b) => valueOf(b) - valueOf(a) || (a.sessionId < b.sessionId ? -1 : 1);
}

async function print(screen: Screen, sessions: readonly ShownSession[], matching: number): Promise<void> {
  const now = Date.now();
  for (const { sessionId, owner, label, labelVersion: _, ...figures } of sessions) {
    const title = label.title;
    await screen.record({ sessionId, ...(owner && { owner }), ...(title !== undefined && { title }), ...figures });
  }
  if (sessions.length === 0) {
    await screen.line("No session was found. Check --prefix, and the filters.");
    return;
  }
  const rows = sessions.map((session) => [
    session.sessionId,
    session.owner ?? "",
    session.label.title ?? "",
    whole(session.messages),
    whole(session.rounds),
    session.tokens === undefined ? "" : whole(session.tokens),
    session.bytes === undefined ? "" : bytes(session.bytes),
    minute(session.updatedAt),
    until(session.expiresAt, now),
    session.damaged ? "damaged" : session.locked ? "locked" : "",
  ]);
  await screen.table(columns, rows);
  const more = matching > sessions.length ? "; --limit shows more" : "";
  await screen.line(`\n${whole(sessions.length)} of ${whole(matching)} sessions${more}.`);
  if (sessions.some(({ damaged }) => damaged)) {
    await screen.line("Redis lost a part of those marked damaged; check says what, and what helps.");
  }
}

/** The first of many items in an order, without holding them all. */
class FirstOf<T> {
  readonly #limit: number;
  readonly #compare: (a: T, b: T) => number;
  #items: T[] = [];

  constructor(limit: number, compare: (a: T, b: T) => number) {
    this.#limit = limit;
    this.#compare = compare;
  }

  get items(): readonly T[] {
    return this.#trimmed();
  }

  add(item: T): void {
    this.#items.push(item);
    if (this.#items.length >= 2 * this.#limit + 100) {
      this.#trimmed();
    }
  }

  #trimmed(): readonly T[] {
    this.#items = this.#items.sort(this.#compare).slice(0, this.#limit);
    return this.#items;
  }
}
