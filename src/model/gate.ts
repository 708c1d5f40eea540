import { refusalFrom } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import { keyNames } from "../store/writer-keys.js";

/** Checks of the gate in their order; the owner is always checked. */
export type Check = "erased" | "key" | "epoch" | "fence";

/** A session as its gate sees it. */
export interface Gated {
  readonly epoch: string;
  readonly fence: number;
  readonly key: string;
  readonly ownership: { readonly owner: string | undefined };
}

/** All checks: those of a write. */
export const everyCheck: readonly Check[] = ["erased", "key", "epoch", "fence"];

/**
 * Throws the error of the first check that closes a session to the caller. The order is that of gate.lua: erased,
 * owner, (damaged, which a session in memory never is,) key, epoch, fence. What follows is the call's own: position,
 * stale, content.
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
