import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../../base/errors.js";
import { originalStore } from "../../store/bound-store.js";
import { requireCapability } from "../../store/capabilities.js";
import { randomToken } from "../../store/random-token.js";
import type { TurnEntry, TurnFence, TurnQueue } from "../../store/holds.js";
import type { ConversationSession } from "../conversation-session.js";
import { fencedStore, withoutFence } from "./held-store.js";
import { HeldTurn } from "./held-session.js";
import { defaultTurnOptions } from "./hold-options.js";
import { isHeld, noteHeld } from "./held-here.js";
import { isWithin } from "./nested-holds.js";
import { joinLine, type LinePlace } from "./waiting-line.js";

const [shortestPauseMs, longestPauseMs] = [15, 500];
/** Longer than any pause between two calls of a waiter that lives. */
const graceMs = 2_000;

/** How to take a turn. */
export interface TakeTurnOptions {
  /** What needs the turn: the first words of an error. */
  readonly owner: string;
  readonly waitMs?: number;
  readonly holdMs?: number;
  /** Milliseconds without a sign of life after which the turn is no longer renewed. @default never */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
}

interface Waiting extends Pick<TakeTurnOptions, "signal"> {
  readonly sessionId: string;
  readonly waitMs: number;
  /** As `performance.now()`. */
  readonly deadline: number;
  /** True while this process holds the turn. */
  isHeldHere(): boolean;
}

/**
 * Waits for the session's turn and takes it. From then on all that is written through the session's history carries the
 * turn's fence, also after the turn was given back.
 *
 * @throws ConflictError `busy` where the turn is not free within `waitMs`, `nested_turn` within a turn of the session,
 *   and `other_owner`; an AbortError where the signal aborts.
 */
export async function takeTurn(session: ConversationSession, options: TakeTurnOptions): Promise<HeldTurn> {
  const { owner, longestMs = Infinity, signal } = options;
  const { waitMs, holdMs } = { ...defaultTurnOptions, ...options };
  signal?.throwIfAborted();
  const { sessionId, context } = session;
  const store = requireCapability(owner, withoutFence(context.store), "turnQueue");
  const queue = store.turnQueue;
  const { ttlMs } = context;
  const ticket = randomToken();
  const entry = { ticket, holdMs, graceMs, ...(ttlMs !== undefined && { ttlMs }) };
  const line = originalStore(store);
  if (isWithin(line, sessionId)) {
    throw nested(owner, sessionId);
  }
  const isHeldHere = () => isHeld(line, sessionId);
  const waiting = { sessionId, waitMs, signal, deadline: performance.now() + waitMs, isHeldHere };
  const fence = await inLine(joinLine(line, sessionId), waiting, async () => {
    try {
      return await enter(queue, entry, waiting);
    } catch (error) {
      session.inBackground(queue.leave(sessionId, ticket).catch(() => undefined));
      throw error;
    }
  });
  const turn = { sessionId, fence, isGivenBack: false };
  session.context = { ...context, store: fencedStore(store, turn) };
  const forget = noteHeld(line, sessionId);
  const onRelease = () => {
    turn.isGivenBack = true;
    forget();
  };
  return new HeldTurn({ queue, line, sessionId, ticket, holdMs, ttlMs, longestMs, onRelease });
}

async function inLine<T>({ first, leave }: LinePlace, waiting: Waiting, work: () => Promise<T>): Promise<T> {
  try {
    if (first !== undefined && !(await settlesInTime(first, waiting))) {
      throw busy(waiting);
    }
    return await work();
  } finally {
    leave();
  }
}

async function settlesInTime(first: Promise<void>, { deadline, signal }: Waiting): Promise<boolean> {
  const cancel = new AbortController();
  const onAbort = () => cancel.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  const left = Math.max(0, deadline - performance.now());
  try {
    return await Promise.race([first.then(() => true), delay(left, false, { signal: cancel.signal })]);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    cancel.abort();
  }
}

/** Asks for the turn until it is there: the less often, the more wait before and the longer nothing has changed. */
async function enter(queue: TurnQueue, entry: TurnEntry, waiting: Waiting): Promise<TurnFence> {
  const { sessionId, deadline, signal } = waiting;
  let place = { ahead: -1, since: performance.now() };
  for (;;) {
    const found = await queue.enter(sessionId, entry);
    // Who was stopped meanwhile would hold the turn for nobody.
    signal?.throwIfAborted();
    if (found.isHeld) {
      return { fencingToken: found.fencingToken, epoch: found.epoch };
    }
    const now = performance.now();
    if (now >= deadline) {
      throw busy(waiting);
    }
    place = found.ahead === place.ahead ? place : { ahead: found.ahead, since: now };
    const pause = Math.max(shortestPauseMs * (place.ahead + 1), (now - place.since) / 20);
    await delay(Math.min(pause, longestPauseMs, deadline - now), undefined, signal && { signal });
  }
}

function nested(owner: string, sessionId: string): ConflictError {
  const message =
    `${owner}: this is called within a turn of the same session, and would wait for itself; nothing was done. ` +
    "Use the history that the turn was given, or begin the next turn when this one has ended.";
  return new ConflictError(message, { code: "nested_turn", sessionId });
}

function busy({ sessionId, waitMs, isHeldHere }: Waiting): ConflictError {
  const hint = isHeldHere()
    ? "This process holds the session: a turn within a turn of the same session waits for itself. " +
      "If this is one, use the history that the turn was given; else try again."
    : "Try again.";
  const message = `Other turns of this session did not end within ${waitMs} ms; nothing was done. ${hint}`;
  return new ConflictError(message, { code: "busy", sessionId });
}
