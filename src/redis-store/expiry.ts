import { checkInteger } from "../store/request-checks.js";
import type { SessionRef } from "../store/session-ref.js";
import type { SessionKeys } from "../redis/keys.js";
import type { RedisSessionIndex } from "../redis-lists/session-lists.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { extendExpiryScript } from "../redis/lua/scripts.js";
import { checkedReply } from "./write-replies.js";

/** What extends the life of sessions: the lists of their owners follow. */
export interface RedisExpiry {
  readonly runner: ScriptRunner;
  readonly index: RedisSessionIndex;
  readonly keysOf: (sessionId: string) => SessionKeys;
}

/** Lets a session that expires live so much longer from now; false for another one, and where there is none. */
export async function extendExpiry(
  { runner, index, keysOf }: RedisExpiry,
  { id: sessionId, owner = "" }: SessionRef,
  ttlMs: number,
): Promise<boolean> {
  checkInteger("ttlMs", ttlMs, 1);
  const name = { operation: "extendExpiry", sessionId };
  const { log, ids, state } = keysOf(sessionId);
  const call = { script: extendExpiryScript, keys: [log, ids, state], args: [String(ttlMs), owner], writes: true };
  const [word, stored] = checkedReply(name, await runner.run(name, call)) as [string, string?];
  index.extended(sessionId, stored ?? "");
  return word === "EXTENDED";
}
