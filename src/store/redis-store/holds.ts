import type { FollowedLists, FollowedWrite } from "../redis-lists/followed-lists.js";
import type { SessionKeys } from "../redis/keys.js";
import { type ScriptCall, type ScriptRunner, askOf } from "../redis/script-runner.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { AppendResult, LogWrite } from "../contract/session-writes.js";
import type { AppendPlan, SizeLimits } from "../contract/append-decision.js";
import { randomToken } from "../../base/ids.js";
import { laterScripts } from "../redis/script.js";
import { unknownReply } from "../redis/errors.js";
import type { HeldTicket, HoldPlace, HoldRequest, ReadViewOptions } from "../contract/session-reads.js";
import { takenHold } from "./append-call.js";
import { keptTexts, type KeptView, type Shown } from "./views.js";

/** A call of a script; without keys, with all of the session. */
export type SessionCall = Omit<ScriptCall, "keys"> & Partial<Pick<ScriptCall, "keys">>;

/** A session's keys in Redis, for code that sends its own commands. */
export interface SessionPlace {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly keys: SessionKeys;
}

/** An append to send, or another write of the same script. */
export interface PlannedRequest {
  readonly request: LogWrite;
  readonly plan: AppendPlan;
  /** As of {@link FollowedWrite}. @default `ttlMs` of the request */
  readonly ttlMs?: number;
}

/** Access to sessions for the groups of the Redis store, implemented by the store. */
export interface RedisCalls {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  readonly lists: FollowedLists;
  readonly limits: SizeLimits;
  placeOf(session: SessionRef): SessionPlace;
  /** Runs a script on a session. */
  script(operation: string, session: SessionRef, call: SessionCall): Promise<unknown>;
  append(operation: string, session: SessionRef, planned: PlannedRequest): Promise<AppendResult | "stale">;
  /** Makes a write, behind the entry of the session in the list of its owner. */
  follow<T>(session: SessionRef, followed: FollowedWrite<T>): Promise<T>;
  /** Caches the owner in a reply, `""` for none. */
  noteOwner(sessionId: string, owner: unknown): void;
  /** Drops the cached positions of the session. */
  forget(sessionId: string): void;
}

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
interface HeldRead extends Shown {
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
