import { Command } from "commander";
import type { SessionProblem } from "../../src/memory/sessions/stored-sessions.js";
import { reencryptAll } from "../../src/memory/sessions/reencrypt-sessions.js";
import type { ReencryptProgress, ReencryptRequest } from "../../src/memory/sessions/reencrypt-sessions.js";
import { type CommandContext, type CommandDefinition, exitCodes, type ExitCode, interrupted } from "../command.js";
import { problemOf } from "../damage.js";
import { UsageError } from "../failure.js";
import { counted, whole } from "../figures.js";
import { keysVariable } from "../encryption-keys.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

/** `reencrypt`: brings everything under the current key, so that older keys can go. */
export function reencryptCommand(): CommandDefinition {
  const command = withServerOptions(new Command())
    .option("--data-keys", "give each session another data key too: a copy takes its place")
    .addHelpText(
      "after",
      "\nThe first key wraps all data keys, and plain text is encrypted. Writers go on\n" +
        "meanwhile. Take an older key away only when this command ends with 0.",
    );
  return { command, run: (context, options) => reencrypt(context, options as ReencryptFlags) };
}

interface ReencryptFlags extends ServerOptions {
  readonly dataKeys?: boolean;
}

/** A session, or another kind of data, that still needs another key, or is plain. */
interface LeftSession {
  readonly sessionId: string;
  readonly kind?: string;
  readonly problem: "failed" | "incomplete";
  readonly reason: string;
}

async function reencrypt(context: CommandContext, options: ReencryptFlags): Promise<ExitCode> {
  const { screen, env, signal } = context;
  const server = await openServer(options, env);
  try {
    if (!env[keysVariable]?.trim()) {
      throw new UsageError(`reencrypt: there is no key. Set ${keysVariable}, the new key first, then those before it.`);
    }
    const done = await reencryptServer(server, context, options.dataKeys);
    await screen.record({ ...done, interrupted: signal.aborted });
    await summarize(screen, done);
    if (signal.aborted) {
      return interrupted(screen, "Not everything was looked at; run the same command again.");
    }
    return done.failed + done.incomplete + done.runs > 0 ? exitCodes.findings : exitCodes.done;
  } finally {
    await server.close();
  }
}

const keepWriting = "others kept writing with another key; run it again when they have the new one";
const cannotChange = "a run holds text of another key until it expires; run it again then";

const nothing: ReencryptProgress = {
  ...{ sessions: 0, threads: 0, items: 0, runs: 0 },
  ...{ keys: 0, sealed: 0, incomplete: 0, failed: 0 },
};

async function reencryptServer(
  server: Server,
  { screen, signal }: CommandContext,
  dataKeys = false,
): Promise<ReencryptProgress> {
  const bar = new ProgressBar(screen, { total: undefined, unit: "sessions" });
  const left: (LeftSession | Promise<LeftSession>)[] = [];
  let done = nothing;
  const sessionIds = async function* () {
    for await (const sessionId of server.plainLists.scan()) {
      if (signal.aborted) {
        return;
      }
      yield sessionId;
      await printLeft(screen, await Promise.all(left.splice(0)));
    }
  };
  const request: ReencryptRequest = {
    sessionIds: sessionIds(),
    signal,
    dataKeys,
    onProblem: (problem) => {
      left.push(failedPiece(server, problem));
    },
    onIncomplete: ({ kind, id }) => {
      left.push({ sessionId: id, kind, problem: "incomplete", reason: kind === "run" ? cannotChange : keepWriting });
    },
    onProgress: (progress) => {
      done = progress;
      bar.reach(progress.sessions + progress.threads);
    },
  };
  await reencryptAll(server.store, request).finally(() => bar.stop());
  await printLeft(screen, await Promise.all(left.splice(0)));
  return done;
}

async function failedPiece(server: Server, { sessionId, kind, error }: SessionProblem): Promise<LeftSession> {
  const reason = await problemOf(server, sessionId, error);
  return { sessionId, ...(kind !== undefined && { kind }), problem: "failed", reason };
}

async function printLeft(screen: Screen, left: readonly LeftSession[]): Promise<void> {
  for (const one of left) {
    const { sessionId, kind = "session", problem, reason } = one;
    await screen.record(one);
    const subject = kind === "session" ? sessionId : kind === "item" ? "long-term memory" : `${kind} ${sessionId}`;
    await screen.line(printable(`${subject}: ${problem}: ${reason}`));
  }
}

async function summarize(screen: Screen, done: ReencryptProgress): Promise<void> {
  const { sessions, threads, items, runs, keys, sealed, incomplete, failed } = done;
  const kinds = `${counted(sessions, "session")}, ${counted(threads, "thread")} and ${counted(items, "item")}`;
  const parts = `${counted(keys, "key")} and ${counted(sealed, "part")} of ${kinds} encrypted with the current key`;
  const left = failed + incomplete + runs;
  await screen.line(left === 0 ? `${parts}.` : `${parts}; ${whole(left)} left as named above.`);
}
