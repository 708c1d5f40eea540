import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../../../base/errors.js";
import { report } from "../../../base/events.js";
import { randomToken } from "../../../base/ids.js";
import type { HoldPlace, HoldRequest } from "../../../store/contract/holds.js";
import type { SessionHold, SessionRef } from "../../../store/contract/session-ref.js";
import type { ConversationSession, TakingCall } from "../conversation-session.js";
import { HeldTurn, placeWithin } from "./held-turn.js";
import type { HoldTimes } from "./options.js";

const [shortestPauseMs, longestPauseMs] = [15, 500];
/** Milliseconds; longer than any pause between two polls of a live waiter. */
const graceMs = 2_000;

/** Parameters of an acquisition. */
export interface TakeTurnOptions extends Required<HoldTimes> {
  /** Caller, which begins error messages. */
  readonly owner: string;
  /** Milliseconds without activity of the run after which its hold is released. @default never */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** True if the calling code is part of the acquiring run. @default code run by the hold's `within` */
  readonly isCaller?: () => boolean;
}

/**
 * Waits for the session's hold and acquires it. From then on every write through the session's history carries the
 * hold's fencing token, also after the release.
 *
 * @throws ConflictError `busy` if the session is not free within `waitMs`, `nested_turn` inside a turn of the session,
 * and `other_owner`; an AbortError if the signal aborts during the wait. A caller whose signal aborts later decides
 * itself what to store.
 */
export async function takeTurn(session: ConversationSession, options: TakeTurnOptions): Promise<HeldTurn> {
  mayHold(session, { ...options, isAsked: true });
  const { held } = await take(session, options);
  return held!;
}

/** The hold of a run, acquired by its first call on the session. */
export interface RunHold {
  /** The hold; undefined until it is acquired, and for a turn that needs none because it is stored with its answer. */
  readonly held: HeldTurn | undefined;
}

/**
 * Makes the next call on the session acquire its hold atomically: a read for a turn, or the write of its beginning. If
 * others hold the session, the call is repeated once the hold is acquired. Undefined if the run needs no hold because
 * it was not explicitly `isAsked` for, inside a turn of the same session, which the run joins.
 *
 * @throws the errors of {@link takeTurn}; that call throws `busy` and the AbortError.
 */
export function holdWithNextCall(
  session: ConversationSession,
  { isAsked, ...options }: TakeTurnOptions & { readonly isAsked: boolean },
): RunHold | undefined {
  options.signal?.throwIfAborted();
  if (!mayHold(session, { owner: options.owner, isAsked })) {
    return undefined;
  }
  const hold: { held: HeldTurn | undefined } = { held: undefined };
  session.takeWithNextCall(async (call) => {
    const { held, result } = await take(session, options, call);
    hold.held = held;
    return result ?? call(undefined);
  });
  return hold;
}

/** Acquires the hold again for a run that lost it; undefined if the run needs none. */
export async function holdAgain(
  session: ConversationSession,
  { isAsked, ...options }: TakeTurnOptions & { readonly isAsked: boolean },
): Promise<HeldTurn | undefined> {
  return mayHold(session, { owner: options.owner, isAsked }) ? (await take(session, options)).held : undefined;
}

/**
 * False if a run may proceed without a hold, because it is inside a turn and the option was not set explicitly.
 *
 * @throws ConflictError `nested_turn` if it was: the turn would deadlock with the turn around it.
 */
export function mayHold(
  session: ConversationSession,
  { owner, isAsked }: { readonly owner: string; readonly isAsked: boolean },
): boolean {
  const place = placeWithin(session);
  if (place !== undefined && isAsked) {
    const message =
      `${owner}: this is called ${place}, and would wait for itself; nothing was done. ` +
      "Use the history that the turn was given, or begin the next turn after this one has ended.";
    throw new ConflictError(message, { code: "nested_turn", sessionId: session.sessionId });
  }
  return place === undefined;
}

/**
 * Acquires the hold, in the same step as the call if there is one. No `held` if that call needed none; no `result` if
 * it had to wait.
 */
async function take<Result extends { readonly place?: HoldPlace }>(
  session: ConversationSession,
  options: TakeTurnOptions,
  call?: TakingCall<Result>,
): Promise<{ readonly held?: HeldTurn; readonly result?: Result }> {
  options.signal?.throwIfAborted();
  const deadline = performance.now() + options.waitMs;
  const { ref, context } = session;
  const { ttlMs, store } = context;
  const ticket = randomToken();
  const entry = { ticket, holdMs: options.holdMs, graceMs, ...(ttlMs !== undefined && { ttlMs }) };
  try {
    const result = await call?.(entry);
    const place = result === undefined ? await store.data.acquireHold(ref, entry) : result.place;
    const isFree = place?.isHeld !== false;
    const hold = isFree ? place?.hold : await holdAfter(session, entry, { ...options, ref, place, deadline });
    return {
      ...(hold && { held: new HeldTurn(session, { ...options, hold, ticket }) }),
      ...(isFree && result && { result }),
    };
  } catch (error) {
    session.inBackground(store.data.releaseHold(ref, ticket).catch(() => undefined));
    throw error;
  }
}

/** A turn that has to wait. */
interface Waiting extends Pick<TakeTurnOptions, "signal" | "waitMs"> {
  readonly ref: SessionRef;
  readonly place: HoldPlace;
  /** As `performance.now()`. */
  readonly deadline: number;
}

/** Polls until the hold is acquired; backs off with the length of the queue and the time without a change. */
async function holdAfter(
  { sessionId, context: { store, holds, onEvent } }: ConversationSession,
  entry: HoldRequest,
  { ref, place, deadline, signal, waitMs }: Waiting,
): Promise<Required<SessionHold>> {
  let [ahead, since] = [-1, performance.now()];
  for (let reply = place; ; reply = await store.data.acquireHold(ref, entry)) {
    if (reply.isHeld) {
      return reply.hold;
    }
    signal?.throwIfAborted();
    const now = performance.now();
    if (now >= deadline) {
      throw busy(sessionId, { waitMs, isHeldHere: holds.has(sessionId) });
    }
    if (ahead < 0) {
      report(onEvent, { type: "turn_waits", sessionId, isHeldHere: holds.has(sessionId) });
    }
    [ahead, since] = reply.ahead === ahead ? [ahead, since] : [reply.ahead, now];
    const pause = Math.max(shortestPauseMs * (ahead + 1), (now - since) / 20);
    await delay(Math.min(pause, longestPauseMs, deadline - now), undefined, signal && { signal });
  }
}

function busy(
  sessionId: string,
  { waitMs, isHeldHere }: { readonly waitMs: number; readonly isHeldHere: boolean },
): ConflictError {
  const hint = isHeldHere
    ? "This process holds the session: a turn inside a turn of the same session would wait for itself. " +
      "If this is one, use the history that the turn was given; else try again."
    : "Try again.";
  const message = `Other turns of this session did not end within ${waitMs} ms; nothing was done. ${hint}`;
  return new ConflictError(message, { code: "busy", sessionId });
}
