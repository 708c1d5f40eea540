import type { SessionRef } from "../store/session-ref.js";
import { askText } from "../redis/ask.js";
import type { SessionKeys } from "../redis/keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { runOnSession } from "../redis/script-runner.js";
import { clearSessionScript, readEpochScript } from "../redis/lua/scripts.js";

/**
 * Removes a session, and returns its owner or `""`.
 *
 * Two round trips: a client sends a command again whose reply was lost, and what others wrote in between must stay. So
 * the session is removed only in the life that it had when the call began.
 *
 * @throws ConflictError `other_owner`.
 */
export async function clearSession({
  runner,
  session,
  keys,
}: {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly keys: SessionKeys;
}): Promise<string> {
  const name = { operation: "clear", sessionId: session.id };
  const { log, ids, state } = keys;
  const args = [askText(session)];
  const life = await runOnSession(runner, name, { script: readEpochScript, keys: [state], args, writes: false });
  const [, epoch] = life as [string, string];
  const call = { script: clearSessionScript, keys: [log, ids, state], args: [...args, epoch], writes: true };
  const [, ended = ""] = (await runOnSession(runner, name, call)) as [string, string?];
  return ended;
}
