import { otherOwner } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import type { SessionKeys } from "../redis/keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
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
  const { id: sessionId, owner = "" } = session;
  const name = { operation: "clear", sessionId };
  const { log, ids, state } = keys;
  const epoch = String(await runner.run(name, { script: readEpochScript, keys: [state], args: [], writes: false }));
  const call = { script: clearSessionScript, keys: [log, ids, state], args: [owner, epoch], writes: true };
  const [word, ended = ""] = (await runner.run(name, call)) as [string, string?];
  if (word === "OWNER") {
    throw otherOwner(sessionId);
  }
  return ended;
}
