import { randomToken } from "../../base/ids.js";
import { laterScripts } from "../redis/script.js";
import { unknownReply } from "../redis/errors.js";
import { askOf } from "../redis/script-runner.js";
import type { HeldTicket, HoldPlace, HoldRequest, ReadViewOptions } from "../contract/session-reads.js";
import type { SessionRef } from "../contract/session-ref.js";
import { takenHold } from "./append-call.js";
import type { RedisCalls } from "./calls.js";
import { keptTexts, type KeptView, type Shown } from "./kept-views.js";

/** Extends the expiry of a held session. Not awaited: a hold is renewed long before its session expires. */
export function keepAlive(
  calls: RedisCalls,
  { id }: SessionRef,
  { held: { holdMs, ttlMs }, left }: { readonly held: HeldTicket; readonly left: number },
): void {
  if (ttlMs !== undefined && left >= 0 && left < Math.min(2 * holdMs, ttlMs / 2)) {
    calls.lists.aside(extendExpiry(calls, { id }, ttlMs));
  }
}

/** A view that was read while acquiring the hold; nothing is shown if the ticket is queued. */
export interface HeldRead extends Shown {
  readonly place: HoldPlace | undefined;
}

/** How to read a view while acquiring the hold, `keptView` being the view that is kept. */
export interface HeldReadOptions extends Pick<ReadViewOptions, "turn"> {
  readonly take: HoldRequest;
  readonly keptView: KeptView | undefined;
  readonly wanted: string[];
  /** @default all of the session */
  readonly keys?: readonly string[];
}

/**
 * Acquires the hold and reads the view and `wanted` fields of `ids`; of the key of `state` alone, nothing. A turn that
 * is stored with its answer acquires none.
 */
export async function acquireAndRead(
  calls: RedisCalls,
  session: SessionRef,
  { take, turn, keptView, wanted, keys }: HeldReadOptions,
): Promise<HeldRead> {
  const request = JSON.stringify({ ...askOf(session), ...take, turn, epoch: randomToken() });
  const { acquireHoldScript: script } = await laterScripts();
  const call = { script, args: [request, ...keptTexts(keptView), ...wanted], writes: true, ...(keys && { keys }) };
  const [word, shown, lookups, fence, epoch, left] = (await calls.script("acquireHold", session, call)) as unknown[];
  if (word === "WAITS") {
    return { shown: undefined, place: { isHeld: false, ahead: Number(shown) } };
  }
  if (word === "VIEW") {
    return { shown, lookups, place: undefined };
  }
  if (word !== "HELD") {
    throw unknownReply({ operation: "acquireHold", sessionId: session.id });
  }
  const taken = takenHold(fence, epoch, left);
  keepAlive(calls, session, { held: take, left: taken.left });
  return { shown, lookups, place: taken.place };
}

/** Sets the expiry of an expiring session to `ttlMs` from now; false for any other session. */
export async function extendExpiry(calls: RedisCalls, session: SessionRef, ttlMs: number): Promise<boolean> {
  const args = [JSON.stringify({ ...askOf(session), ttl: ttlMs })];
  const { extendExpiryScript: script } = await laterScripts();
  const call = { script, args, writes: true };
  const [word, stored] = (await calls.script("extendExpiry", session, call)) as [string, string?];
  await calls.lists.extended(session.id, stored ?? "", ttlMs);
  return word === "EXTENDED";
}
