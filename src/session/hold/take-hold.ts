import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { requireGroup } from "../../store/groups.js";
import { randomToken } from "../../base/ids.js";
import type { SessionBeside } from "../../store/beside.js";
import type { HoldRequest } from "../../store/holds.js";
import type { SessionHold, SessionRef } from "../../store/session-ref.js";
import type { ConversationSession } from "../conversation-session.js";
import type { HoldTimes } from "./hold-options.js";
import { isWithin, type LinePlace, RunningTurn, type SpentTickets } from "./local-holds.js";

const [shortestPauseMs, longestPauseMs] = [15, 500];
/** Longer than any pause between two calls of a waiter that lives. */
const graceMs = 2_000;

/** How to take a turn. */
export interface TakeTurnOptions extends Required<HoldTimes> {
  /** What needs the turn: the first words of an error. */
  readonly owner: string;
  /** Milliseconds without a sign of life after which the turn is no longer renewed. @default never */
  readonly longestMs?: number;
  readonly signal?: AbortSignal | undefined;
  /** True where the calling code is a part of the run that takes the turn. @default what `within` of the turn runs */
  readonly isCaller?: () => boolean;
}

interface Waiting extends Pick<TakeTurnOptions, "signal"> {
  readonly session: SessionRef;
  readonly waitMs: number;
  /** As `performance.now()`. */
  readonly deadline: number;
  /** True while this process holds the turn. */
  isHeldHere(): boolean;
  /** Tells once that the turn is not free. */
  waits(): void;
}

/**
 * Waits for the session's turn and takes it. From then on all that is written through the session's history carries the
 * turn's fence, also after the turn was given back.
 *
 * @throws ConflictError `busy` where the turn is not free within `waitMs`, `nested_turn` within a turn of the session,
 *   and `other_owner`; an AbortError where the signal aborts while the turn is waited for. One that is stopped when it
 *   gets the turn decides itself what it leaves.
 */
export async function takeTurn(session: ConversationSession, options: TakeTurnOptions): Promise<HeldTurn> {
  const { owner, waitMs, holdMs, longestMs = Infinity, signal, isCaller = () => false } = options;
  signal?.throwIfAborted();
  const { sessionId, ref, context } = session;
  const { beside = requireGroup(owner, context.store, "beside").beside } = context.store;
  const { ttlMs } = context;
  const ticket = randomToken();
  const entry = { ticket, holdMs, graceMs, ...(ttlMs !== undefined && { ttlMs }) };
  refuseNested(session, owner);
  const { holds, source } = context;
  const { spent } = holds;
  const deadline = performance.now() + waitMs;
  const isHeldHere = () => holds.has(sessionId);
  const waiting = { session: ref, waitMs, signal, deadline, isHeldHere, waits: onceToldOf(session) };
  const hold = await inLine(holds.join(sessionId), waiting, async () => {
    try {
      await spent.giveBackAll(sessionId);
      return await enter(beside, entry, waiting);
    } catch (error) {
      session.inBackground(spent.giveBack({ beside, session: ref, ticket, holdMs }));
      throw error;
    }
  });
  const giveBack = session.writeWithin(hold);
  const forget = holds.note(sessionId, { owner, isCaller });
  const onRelease = () => {
    giveBack();
    forget();
  };
  const parts = { beside, store: source, session: ref, ticket, holdMs, ttlMs, longestMs, spent, onRelease };
  return new HeldTurn(parts);
}

/**
 * The same for a door, which also runs without a hold where nobody `isAsked` for one: on a store without holds, and
 * within a turn of the same session, of which the run is then a part.
 */
export async function takeDoorTurn(
  session: ConversationSession,
  { isAsked, ...options }: TakeTurnOptions & { readonly isAsked: boolean },
): Promise<HeldTurn | undefined> {
  const canHold = session.context.store.beside !== undefined && placeWithin(session) === undefined;
  return isAsked || canHold ? takeTurn(session, options) : undefined;
}

/** Refuses a turn that would wait for the code that waits for it. */
function refuseNested(session: ConversationSession, owner: string): void {
  const place = placeWithin(session);
  if (place !== undefined) {
    throw nested(owner, { sessionId: session.sessionId, place });
  }
}

/** Where the calling code stands within a turn of the session; undefined where it does not. */
function placeWithin({ sessionId, context }: ConversationSession): string | undefined {
  const around = context.holds.around(sessionId);
  if (around !== undefined) {
    return `in a tool or hook of a run that holds the same session (${around.owner})`;
  }
  return isWithin(context.source, sessionId) ? "within a turn of the same session" : undefined;
}

/** Reports that a turn waits, at its first call. */
function onceToldOf({ sessionId, context }: ConversationSession): () => void {
  let isTold = false;
  return () => {
    if (!isTold) {
      isTold = true;
      report(context.onEvent, { type: "turn_waits", sessionId, isHeldHere: context.holds.has(sessionId) });
    }
  };
}

async function inLine<T>({ first, leave }: LinePlace, waiting: Waiting, work: () => Promise<T>): Promise<T> {
  try {
    if (first !== undefined) {
      waiting.waits();
      if (!(await settlesInTime(first, waiting))) {
        throw busy(waiting);
      }
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
async function enter(beside: SessionBeside, entry: HoldRequest, waiting: Waiting): Promise<Required<SessionHold>> {
  const { session, deadline, signal } = waiting;
  let place = { ahead: -1, since: performance.now() };
  for (;;) {
    const found = await beside.takeHold(session, entry);
    if (found.isHeld) {
      return found.hold;
    }
    signal?.throwIfAborted();
    const now = performance.now();
    if (now >= deadline) {
      throw busy(waiting);
    }
    waiting.waits();
    place = found.ahead === place.ahead ? place : { ahead: found.ahead, since: now };
    const pause = Math.max(shortestPauseMs * (place.ahead + 1), (now - place.since) / 20);
    await delay(Math.min(pause, longestPauseMs, deadline - now), undefined, signal && { signal });
  }
}

function nested(
  owner: string,
  { sessionId, place }: { readonly sessionId: string; readonly place: string },
): ConflictError {
  const message =
    `${owner}: this is called ${place}, and would wait for itself; nothing was done. ` +
    "Use the history that the turn was given, or begin the next turn when this one has ended.";
  return new ConflictError(message, { code: "nested_turn", sessionId });
}

function busy({ session, waitMs, isHeldHere }: Waiting): ConflictError {
  const hint = isHeldHere()
    ? "This process holds the session: a turn within a turn of the same session waits for itself. " +
      "If this is one, use the history that the turn was given; else try again."
    : "Try again.";
  const message = `Other turns of this session did not end within ${waitMs} ms; nothing was done. ${hint}`;
  return new ConflictError(message, { code: "busy", sessionId: session.id });
}

/** What a turn that was taken needs to stay and to be given back. */
export interface HeldTurnParts {
  readonly beside: SessionBeside;
  /** The store, as all users of the session know it. */
  readonly store: object;
  readonly session: SessionRef;
  readonly ticket: string;
  readonly holdMs: number;
  readonly ttlMs: number | undefined;
  /** Milliseconds without a sign of life after which the turn is no longer renewed. */
  readonly longestMs: number;
  readonly spent: SpentTickets;
  /** Called when the turn is given back. */
  readonly onRelease: () => void;
}

/** The turn of a session: renewed until it is given back, lost, or its run shows no life any more. */
export class HeldTurn {
  readonly #parts: HeldTurnParts;
  readonly #running: RunningTurn;
  readonly #timer: ReturnType<typeof setInterval>;
  #lastSign = performance.now();
  #isWorking = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldTurnParts) {
    this.#parts = parts;
    const { store, session, holdMs, ttlMs = Infinity } = parts;
    this.#running = new RunningTurn(store, session.id);
    this.#timer = setInterval(() => this.#renew(), Math.max(1, Math.floor(Math.min(holdMs, ttlMs) / 3)));
    this.#timer.unref();
  }

  /** The run that holds the turn does something; while it `isWorking`, it need give no other sign. */
  signOfLife({ isWorking = false }: { readonly isWorking?: boolean } = {}): void {
    this.#lastSign = performance.now();
    this.#isWorking = isWorking;
  }

  /** Runs a function within the turn: another turn of the session that it begins is refused at once. */
  within<Result>(run: () => Result | Promise<Result>): Promise<Result> {
    return this.#running.run(run);
  }

  /** Lets the next turn begin. Never rejects: where Redis is away it is tried again until `holdMs` is over. */
  release(): Promise<void> {
    clearInterval(this.#timer);
    this.#running.end();
    const { beside, session, ticket, holdMs, spent, onRelease } = this.#parts;
    onRelease();
    this.#released ??= spent.giveBack({ beside, session, ticket, holdMs });
    return this.#released;
  }

  #renew(): void {
    const { beside, session, ticket, holdMs, ttlMs, longestMs } = this.#parts;
    if (!this.#isWorking && performance.now() - this.#lastSign > longestMs) {
      clearInterval(this.#timer);
    } else {
      const turn = { ticket, holdMs, ...(ttlMs !== undefined && { ttlMs }) };
      const lost = (isHeld: boolean) => void (isHeld || clearInterval(this.#timer));
      // One that fails is tried again: the connection may be back in time.
      beside.renewHold(session, turn).then(lost, () => undefined);
    }
  }
}
