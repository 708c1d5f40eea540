import { refusalFrom } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import { keyNames } from "../store/writer-keys.js";

/** Checks of the gate in their order; the owner is always checked. */
export type Check = "erased" | "key" | "epoch" | "fence";

/** The fields of a session that the gate checks. */
export interface Gated {
  readonly epoch: string;
  readonly fence: number;
  readonly key: string;
  readonly ownership: { readonly owner: string | undefined };
}

/** All checks: those of a write. */
export const everyCheck: readonly Check[] = ["erased", "key", "epoch", "fence"];

/**
 * Throws the error of the first check that fails. The order is that of gate.lua: erased, owner, key, epoch, fence; a
 * session in memory is never damaged. The call's own checks follow: position, stale, content.
 */
export function passGate(
  operation: string,
  session: SessionRef,
  { stored, isErased, checks = everyCheck }: GatedCall,
): void {
  const { epoch = "", fence = 0, key = "", ownership } = stored ?? {};
  const { owner, keys, hold } = session;
  const lacks: Readonly<Record<Check | "owner", boolean>> = {
    erased: isErased,
    owner: owner !== undefined && (ownership?.owner ?? owner) !== owner,
    key: !keyNames(key).every((name) => keys?.known.includes(name)),
    epoch: hold !== undefined && hold.epoch !== epoch,
    fence: hold?.token !== undefined && hold.token < fence,
  };
  const words = { erased: "ERASED", owner: "OWNER", key: "KEY", epoch: "EPOCH", fence: "FENCED" } as const;
  const order = ["erased", "owner", "key", "epoch", "fence"] as const;
  const first = order.find((check) => lacks[check] && (check === "owner" || checks.includes(check)));
  if (first !== undefined) {
    throw refusalFrom(words[first], key, { operation, sessionId: session.id })!;
  }
}

interface GatedCall {
  /** Undefined where the session does not exist. */
  readonly stored: Gated | undefined;
  readonly isErased: boolean;
  readonly checks?: readonly Check[];
}
