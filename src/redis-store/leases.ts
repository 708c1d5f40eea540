import { randomToken } from "../store/random-token.js";
import type { SessionRef } from "../store/session-ref.js";
import type { SessionKeys } from "../redis/keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { releaseLeaseScript } from "../redis/lua/scripts.js";

/** The lease of a session, and what reaches it. */
export interface LeaseCall {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly keys: SessionKeys;
}

/** Takes the lease; undefined while another holds it. */
export async function acquireLease(
  { runner, session, keys: { lease } }: LeaseCall,
  ttlMs: number,
): Promise<string | undefined> {
  const token = randomToken();
  const command = { verb: "set", args: [lease, token, "NX", "PX", ttlMs] };
  return (await runner.command({ operation: "acquireLease", sessionId: session.id }, command, [lease])) === null
    ? undefined
    : token;
}

/** Gives the lease back if the token still holds it. */
export async function releaseLease({ runner, session, keys: { lease } }: LeaseCall, token: string): Promise<void> {
  const call = { script: releaseLeaseScript, keys: [lease], args: [token], writes: true };
  await runner.run({ operation: "releaseLease", sessionId: session.id }, call);
}
