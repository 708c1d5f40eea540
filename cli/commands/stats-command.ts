import { Command } from "commander";
import { countOthers } from "../../src/store/redis-lists/kinds.js";
import type { SessionDetails } from "../../src/store/contract/session-ref.js";
import { allSessions } from "../all-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { bytes, counted, whole } from "../figures.js";
import { positiveOperand } from "../operands.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";
import { wireOfServer } from "../threads.js";
import { SessionMemory, type MemoryFigures } from "../session-memory.js";

interface StatsOptions extends ServerOptions {
  readonly sample?: number;
}

/** How many of the biggest sessions are named. */
const biggestCount = 10;

/** `stats`: how many sessions there are, how long they are, and what they take. */
export function statsCommand(): CommandDefinition {
  const command = withServerOptions(new Command()).option(
    "--sample <number>",
    "measure the memory of so many sessions only, and say a range",
    positiveOperand,
  );
  return { command, run: (context, options) => stats(context, options as StatsOptions) };
}

interface Figures {
  readonly sessions: number;
  readonly messages: number;
  readonly owned: number;
  readonly expiring: number;
  /** Sessions that Redis lost a part of. */
  readonly damaged: number;
  readonly threads: number;
  /** Items of long-term memory. */
  readonly items: number;
  readonly runs: number;
  /** Messages of a session: the median, and so on. */
  readonly length: Readonly<Record<"p50" | "p90" | "p99" | "max", number>>;
  readonly biggest: readonly { readonly sessionId: string; readonly messages: number }[];
  /** Bytes in Redis; undefined where this user may not ask. */
  readonly memory?: MemoryFigures;
}

async function stats({ screen, env, signal }: CommandContext, options: StatsOptions): Promise<ExitCode> {
  const server = await openServer(options, env);
  try {
    const lengths: number[] = [];
    const counts = { messages: 0, owned: 0, expiring: 0, damaged: 0 };
    let biggest: SessionDetails[] = [];
    const memory = new SessionMemory(server, options.sample);
    for await (const session of allSessions(server, { signal })) {
      lengths.push(session.messages);
      counts.messages += session.messages;
      counts.owned += session.owner === undefined ? 0 : 1;
      counts.expiring += session.expiresAt === undefined ? 0 : 1;
      counts.damaged += session.damaged ? 1 : 0;
      biggest = [...biggest, session].sort((a, b) => b.messages - a.messages).slice(0, biggestCount);
      await memory.add(session);
    }
    const others = await othersOf(server, signal);
    if (signal.aborted) {
      return interrupted(screen, "Nothing is counted, because not all sessions were looked at.");
    }
    lengths.sort((a, b) => a - b);
    const taken = await memory.figures();
    await print(screen, {
      sessions: lengths.length,
      ...counts,
      ...others,
      length: distribution(lengths),
      ...(taken && { memory: taken }),
      biggest: biggest.map(({ sessionId, messages }) => ({ sessionId, messages })),
    });
    return exitCodes.done;
  } finally {
    await server.close();
  }
}

/** The numbers of what lies beside sessions; of a part of it where the signal aborts. */
async function othersOf(server: Server, signal: AbortSignal): Promise<Pick<Figures, "threads" | "items" | "runs">> {
  let counts: Partial<Record<string, number>> = {};
  for await (counts of countOthers(wireOfServer(server))) {
    if (signal.aborted) {
      break;
    }
  }
  return { threads: counts["thread"] ?? 0, items: counts["item"] ?? 0, runs: counts["run"] ?? 0 };
}

function distribution(sorted: readonly number[]): Figures["length"] {
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1) };
}

async function print(screen: Screen, figures: Figures): Promise<void> {
  await screen.record(figures);
  const { sessions, messages, owned, expiring, damaged, threads, items, runs, length, biggest, memory } = figures;
  const { p50, p90, p99, max } = length;
  const lines = [
    ["sessions", `${whole(sessions)}, ${whole(owned)} with an owner, ${whole(expiring)} that expire`],
    ...(damaged > 0 ? [["damaged", `${whole(damaged)}; check --all names them`]] : []),
    ["messages", whole(messages)],
    ["a session", `${whole(p50)} messages (median), ${whole(p90)} (90 %), ${whole(p99)} (99 %), ${whole(max)} (most)`],
    ["also", `${counted(threads, "thread")}, ${counted(items, "item")} and ${counted(runs, "run")}`],
    ...memoryLines(memory, sessions),
  ];
  for (const [name, text] of lines) {
    await screen.line(`${name!.padEnd(11)}${text}`, { indent: 11 });
  }
  if (biggest.length > 0) {
    await screen.line();
    await screen.table(
      [
        { title: "biggest sessions", cut: { order: 1, least: 36 }, isWhole: true },
        { title: "messages", align: "right" },
      ],
      biggest.map((session) => [session.sessionId, whole(session.messages)]),
    );
  }
}

function memoryLines(memory: MemoryFigures | undefined, sessions: number): [string, string][] {
  if (memory === undefined) {
    return [["memory", "not known: no session, or this user may not run MEMORY USAGE"]];
  }
  const { sampled, perSession, perMessage, total, low, high, lists } = memory;
  const all = `${bytes(perSession)} a session, ${bytes(perMessage)} a message, ${bytes(total)} in all`;
  const withLists = lists === 0 ? [] : [["", `${bytes(lists)} of it are the lists of owners`] as [string, string]];
  const range = `${bytes(low)} to ${bytes(high)}, as ${whole(sampled)} of ${whole(sessions)} sessions say`;
  return [["memory", all], ...withLists, ...(sampled < sessions ? [["", range] as [string, string]] : [])];
}
