import { Command } from "commander";
import type { MemoryError } from "../../src/base/errors.js";
import {
  reencryptSessions,
  type ReencryptProgress,
  type ReencryptRequest,
} from "../../src/sessions/reencrypt-sessions.js";
import type { CommandContext, CommandDefinition } from "../command.js";
import { damageOf, problemOf, remainsOf } from "../damage.js";
import { exitCodes, type ExitCode } from "../exit-codes.js";
import { UsageError } from "../failure.js";
import { counted } from "../figures.js";
import { interrupted } from "../interruption.js";
import { keysVariable } from "../keys-variable.js";
import { printable } from "../printable.js";
import { ProgressBar } from "../progress-bar.js";
import type { Screen } from "../screen.js";
import { openServer, withServerOptions, type Server, type ServerOptions } from "../server.js";

/** `reencrypt`: seals everything with the current key, so that older keys can go. */
export function reencryptCommand(): CommandDefinition {
  const command = withServerOptions(new Command()).addHelpText(
    "after",
    "\nThe first key seals what other keys sealed, and what is plain. Writers go on\n" +
      "meanwhile. Take an older key away only when this command ends with 0.",
  );
  return { command, run: (context, options) => reencrypt(context, options as ServerOptions) };
}

/** A session that still needs another key, or is plain. */
interface LeftSession {
  readonly sessionId: string;
  readonly problem: "failed" | "incomplete";
  readonly reason: string;
}

async function reencrypt(context: CommandContext, options: ServerOptions): Promise<ExitCode> {
  const { screen, env, signal } = context;
  const server = await openServer(options, env);
  try {
    if (!env[keysVariable]?.trim()) {
      throw new UsageError(`reencrypt: there is no key. Set ${keysVariable}, the new key first, then those before it.`);
    }
    const done = await reencryptAll(server, context);
    await screen.record({ ...done, interrupted: signal.aborted });
    await summarize(screen, done);
    if (signal.aborted) {
      return interrupted(screen, "Not all sessions were looked at; run the same command again.");
    }
    return done.failed + done.incomplete > 0 ? exitCodes.findings : exitCodes.done;
  } finally {
    await server.close();
  }
}

const keepWriting = "others kept writing with another key; run it again when they have the new one";

async function reencryptAll(server: Server, { screen, signal }: CommandContext): Promise<ReencryptProgress> {
  const bar = new ProgressBar(screen, { total: undefined, unit: "sessions" });
  const left: (LeftSession | Promise<LeftSession>)[] = [];
  let done: ReencryptProgress = { sessions: 0, sealed: 0, incomplete: 0, failed: 0 };
  let current = "";
  let lost = 0;
  const sessionIds = async function* () {
    for await (const sessionId of server.plainLists.scan()) {
      if (signal.aborted) {
        return;
      }
      const remains = await remainsOf(server, sessionId);
      if (remains?.missing.has("state")) {
        // Its records are as they were: which key they need is not known any more.
        left.push({ sessionId, problem: "failed", reason: damageOf(remains).sentence });
        lost += 1;
      } else {
        current = sessionId;
        yield sessionId;
      }
      await printLeft(screen, await Promise.all(left.splice(0)));
    }
  };
  const request: ReencryptRequest = {
    sessionIds: sessionIds(),
    onProblem: ({ sessionId, error }) => {
      left.push(failedSession(server, sessionId, error));
    },
    onProgress: (progress) => {
      if (progress.incomplete > done.incomplete) {
        left.push({ sessionId: current, problem: "incomplete", reason: keepWriting });
      }
      done = progress;
      bar.reach(progress.sessions);
    },
  };
  await reencryptSessions(server.store, request).finally(() => bar.stop());
  await printLeft(screen, await Promise.all(left.splice(0)));
  return { ...done, sessions: done.sessions + lost, failed: done.failed + lost };
}

async function failedSession(server: Server, sessionId: string, error: MemoryError): Promise<LeftSession> {
  return { sessionId, problem: "failed", reason: await problemOf(server, sessionId, error) };
}

async function printLeft(screen: Screen, left: readonly LeftSession[]): Promise<void> {
  for (const one of left) {
    await screen.record(one);
    await screen.line(printable(`${one.sessionId}: ${one.problem}: ${one.reason}`));
  }
}

async function summarize(screen: Screen, { sessions, sealed, incomplete, failed }: ReencryptProgress): Promise<void> {
  const parts = `${counted(sealed, "part")} of ${counted(sessions, "session")} encrypted with the current key`;
  const left = failed + incomplete;
  await screen.line(left === 0 ? `${parts}.` : `${parts}; ${counted(left, "session")} left as named above.`);
}
