import { checkInteger } from "../store/request-checks.js";
import type { SessionRef } from "../store/session-ref.js";
import { askOf } from "../redis/script-runner.js";
import type { RedisCalls } from "./calls.js";
import { extendExpiryScript } from "../redis/lua/scripts.js";

/** Lets a session that expires live so much longer from now; false for another one, and where there is none. */
export async function extendExpiry(calls: RedisCalls, session: SessionRef, ttlMs: number): Promise<boolean> {
  checkInteger("ttlMs", ttlMs, 1);
  const args = [JSON.stringify({ ...askOf(session), ttl: ttlMs })];
  const call = { script: extendExpiryScript, args, writes: true };
  const [word, stored] = (await calls.script("extendExpiry", session, call)) as [string, string?];
  calls.lists.extended(session.id, stored ?? "");
  return word === "EXTENDED";
}
