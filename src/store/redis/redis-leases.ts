import { randomToken } from "../random-token.js";
import type { LeaseOptions } from "../leases.js";
import type { SessionKeys } from "./keys.js";
import type { ScriptRunner } from "./script-runner.js";
import { extendLeaseScript } from "./scripts/extend-lease.js";
import { releaseLeaseScript } from "./scripts/release-lease.js";

/** A lease of a session, and what reaches it. */
export interface LeaseCall {
  readonly runner: ScriptRunner;
  readonly sessionId: string;
  readonly keys: SessionKeys;
  readonly purpose: LeaseOptions["purpose"];
}

/** Takes the lease, or extends the one that `held` holds; undefined while another holds it. */
export async function acquireLease(
  { runner, sessionId, keys, purpose }: LeaseCall,
  ttlMs: number,
  held: string | undefined,
): Promise<string | undefined> {
  const name = { operation: "acquireLease", sessionId };
  const key = leaseKey(keys, purpose);
  if (held !== undefined) {
    const args = [held, String(ttlMs)];
    const reply = await runner.run(name, { script: extendLeaseScript, keys: [key], args, writes: true });
    return reply === "EXTENDED" ? held : undefined;
  }
  const token = randomToken();
  const args = [key, token, "NX", "PX", ttlMs];
  return (await runner.command(name, { verb: "set", args }, [key])) === null ? undefined : token;
}

/** Gives the lease back if the token still holds it. */
export async function releaseLease({ runner, sessionId, keys, purpose }: LeaseCall, token: string): Promise<void> {
  const call = { script: releaseLeaseScript, keys: [leaseKey(keys, purpose)], args: [token], writes: true };
  await runner.run({ operation: "releaseLease", sessionId }, call);
}

function leaseKey({ lease, turn }: SessionKeys, purpose: LeaseOptions["purpose"]): string {
  return purpose === "turn" ? turn : lease;
}
