import { checkInteger } from "../store/request-checks.js";
import type { SessionRef } from "../store/session-ref.js";
import type { SessionKeys } from "../redis/keys.js";
import type { RedisSessionIndex } from "../redis-lists/session-lists.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { askOf } from "../redis/ask.js";
import { runOnSession } from "../redis/script-runner.js";
import { extendExpiryScript } from "../redis/lua/scripts.js";

/** What extends the life of sessions: the lists of their owners follow. */
export interface RedisExpiry {
  readonly runner: ScriptRunner;
  readonly index: RedisSessionIndex;
  readonly keysOf: (sessionId: string) => SessionKeys;
}

/** Lets a session that expires live so much longer from now; false for another one, and where there is none. */
export async function extendExpiry(
  { runner, index, keysOf }: RedisExpiry,
  session: SessionRef,
  ttlMs: number,
): Promise<boolean> {
  checkInteger("ttlMs", ttlMs, 1);
  const name = { operation: "extendExpiry", sessionId: session.id };
  const { log, ids, state } = keysOf(session.id);
  const args = [JSON.stringify({ ...askOf(session), ttl: ttlMs })];
  const call = { script: extendExpiryScript, keys: [log, ids, state], args, writes: true };
  const [word, stored] = (await runOnSession(runner, name, call)) as [string, string?];
  index.extended(session.id, stored ?? "");
  return word === "EXTENDED";
}
