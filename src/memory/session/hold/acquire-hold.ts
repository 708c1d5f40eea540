import { setTimeout as delay } from "node:timers/promises";
import { callWithin } from "../../../base/bounds.js";
import { ConflictError } from "../../../base/errors.js";
import { report } from "../../../base/events.js";
import { randomToken } from "../../../base/ids.js";
import type { SessionData } from "../../../store/contract/session-data.js";
import type { HoldPlace, HoldRequest } from "../../../store/contract/session-reads.js";
import type { SessionHold, SessionRef } from "../../../store/contract/session-ref.js";
import type { ConversationSession, TakingCall } from "../conversation-session.js";
import { type HoldTimes, isWithin, type LinePlace, RunningTurn } from "./local-holds.js";

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

interface Waiting extends Pick<TakeTurnOptions, "signal"> {
  readonly session: SessionRef;
  readonly waitMs: number;
  /** As `performance.now()`. */
  readonly deadline: number;
  /** True while this process holds the session. */
  isHeldHere(): boolean;
  /** Reports once that the session is not free. */
  waits(): void;
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
  refuseNested(session, options.owner);
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
 * False if a run may proceed without a hold, because the option was not set explicitly.
 *
 * @throws ConflictError `nested_turn` if it was.
 */
export function mayHold(
  session: ConversationSession,
  { owner, isAsked }: { readonly owner: string; readonly isAsked: boolean },
): boolean {
  if (isAsked) {
    refuseNested(session, owner);
    return true;
  }
  return placeWithin(session) === undefined;
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
  const { owner, waitMs, holdMs, longestMs = Infinity, signal, isCaller = () => false } = options;
  signal?.throwIfAborted();
  const { sessionId, ref, context } = session;
  const { data } = context.store;
  const { ttlMs, holds, source } = context;
  const ticket = holds.mark + randomToken();
  const entry = { ticket, holdMs, graceMs, ...(ttlMs !== undefined && { ttlMs }) };
  const deadline = performance.now() + waitMs;
  const waiting = { session: ref, waitMs, signal, deadline, ...watching(session) };
  const { hold, result } = await inLine(holds.join(sessionId), waiting, async () => {
    try {
      const first = await call?.(entry);
      return first !== undefined && first.place?.isHeld !== false
        ? { hold: first.place?.hold, result: first }
        : { hold: await enter(data, entry, { place: first?.place, ...waiting }) };
    } catch (error) {
      session.inBackground(data.releaseHold(ref, ticket).catch(() => undefined));
      throw error;
    }
  });
  if (hold === undefined) {
    return { ...(result && { result }) };
  }
  const release = session.writeWithin(hold);
  const forget = holds.note(sessionId, { owner, isCaller, release: () => turn.release() });
  const onRelease = () => {
    release();
    forget();
  };
  const parts = { data, store: source, session: ref, ticket, holdMs, ttlMs, longestMs, onRelease };
  const turn = new HeldTurn(parts);
  return { held: turn, ...(result && { result }) };
}

/** Raises the event of a wait once, and checks whether this process holds the session. */
function watching(session: ConversationSession) {
  const isHeldHere = () => session.context.holds.has(session.sessionId);
  return { isHeldHere, waits: onceToldOf(session) };
}

/** Refuses a turn that would deadlock with the turn around it. */
function refuseNested(session: ConversationSession, owner: string): void {
  const place = placeWithin(session);
  if (place !== undefined) {
    throw nested(owner, { sessionId: session.sessionId, place });
  }
}

/** Place of the caller inside a turn of the session; undefined outside of one. */
function placeWithin({ sessionId, context }: ConversationSession): string | undefined {
  const around = context.holds.around(sessionId);
  if (around !== undefined) {
    return `in a tool or hook of a run that holds the same session (${around.owner})`;
  }
  return isWithin(context.source, sessionId) ? "within a turn of the same session" : undefined;
}

/** Reports at its first call that a turn waits. */
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
      const { deadline, signal } = waiting;
      const milliseconds = Math.max(0, deadline - performance.now());
      await callWithin({ milliseconds, late: () => busy(waiting), signal }, () => first);
    }
    return await work();
  } finally {
    leave();
  }
}

/** Polls until the hold is acquired; backs off with the length of the queue and the time without a change. */
async function enter(
  data: SessionData,
  entry: HoldRequest,
  waiting: Waiting & { readonly place: HoldPlace | undefined },
): Promise<Required<SessionHold>> {
  const { session, deadline, signal } = waiting;
  let place = { ahead: -1, since: performance.now() };
  let reply = waiting.place ?? (await data.acquireHold(session, entry));
  for (;;) {
    if (reply.isHeld) {
      return reply.hold;
    }
    signal?.throwIfAborted();
    const now = performance.now();
    if (now >= deadline) {
      throw busy(waiting);
    }
    waiting.waits();
    place = reply.ahead === place.ahead ? place : { ahead: reply.ahead, since: now };
    const pause = Math.max(shortestPauseMs * (place.ahead + 1), (now - place.since) / 20);
    await delay(Math.min(pause, longestPauseMs, deadline - now), undefined, signal && { signal });
    reply = await data.acquireHold(session, entry);
  }
}

function nested(
  owner: string,
  { sessionId, place }: { readonly sessionId: string; readonly place: string },
): ConflictError {
  const message =
    `${owner}: this is called ${place}, and would wait for itself; nothing was done. ` +
    "Use the history that the turn was given, or begin the next turn after this one has ended.";
  return new ConflictError(message, { code: "nested_turn", sessionId });
}

function busy({ session, waitMs, isHeldHere }: Waiting): ConflictError {
  const hint = isHeldHere()
    ? "This process holds the session: a turn inside a turn of the same session would wait for itself. " +
      "If this is one, use the history that the turn was given; else try again."
    : "Try again.";
  const message = `Other turns of this session did not end within ${waitMs} ms; nothing was done. ${hint}`;
  return new ConflictError(message, { code: "busy", sessionId: session.id });
}

/** Parts of an acquired hold, for its renewal and release. */
export interface HeldTurnParts {
  readonly data: SessionData;
  /** The store, as all users of the session know it. */
  readonly store: object;
  readonly session: SessionRef;
  readonly ticket: string;
  readonly holdMs: number;
  readonly ttlMs: number | undefined;
  /** Milliseconds without activity after which the hold is released. */
  readonly longestMs: number;
  /** Called on release. */
  readonly onRelease: () => void;
}

/** A hold on a session: renewed until it is released or lost, or its run shows no activity. */
export class HeldTurn {
  readonly #parts: HeldTurnParts;
  readonly #running: RunningTurn;
  /** Milliseconds for which a renewal lasts. */
  readonly #span: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the run is taken to be over, unless it shows activity. */
  #lapsesAt: number;
  #isOver = false;
  #hasLapsed = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldTurnParts) {
    this.#parts = parts;
    const { store, session, holdMs, ttlMs = Infinity } = parts;
    this.#running = new RunningTurn(store, session.id);
    this.#span = Math.min(holdMs, ttlMs);
    this.#lapsesAt = performance.now() + parts.longestMs;
    this.#renewIn();
  }

  /** The ticket, for the write that releases the hold. */
  get ticket(): string {
    return this.#parts.ticket;
  }

  /** True for a hold that was released because its run showed no activity for too long. */
  get hasLapsed(): boolean {
    return this.#hasLapsed;
  }

  /** Records activity of the holding run, which may be silent for so many milliseconds now. */
  signOfLife(silenceMs = this.#parts.longestMs): void {
    this.#lapsesAt = performance.now() + silenceMs;
  }

  /** Runs a function inside the turn: a nested turn of the session is refused at once. */
  within<Result>(run: () => Result | Promise<Result>): Promise<Result> {
    return this.#running.run(run);
  }

  /** Releases the hold. Never rejects: if Redis is unreachable, it expires by itself. */
  release(): Promise<void> {
    const { data, session, ticket } = this.#parts;
    this.#end();
    this.#released ??= data.releaseHold(session, ticket).catch(() => undefined);
    return this.#released;
  }

  /** Records that a write released the hold, so that nothing more is sent. */
  wasGivenBack(): void {
    this.#end();
    this.#released ??= Promise.resolve();
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#running.end();
    this.#parts.onRelease();
  }

  /** Renews the hold after a third of its time, so that a short turn sends nothing. */
  #renewIn(share = 1 / 3): void {
    if (!this.#isOver) {
      this.#timer = setTimeout(() => this.#renew(), Math.max(1, Math.floor(this.#span * share)));
      this.#timer.unref();
    }
  }

  #renew(): void {
    const { data, session, ticket, holdMs, ttlMs } = this.#parts;
    this.#hasLapsed = performance.now() > this.#lapsesAt;
    if (this.#hasLapsed) {
      void this.release();
      return;
    }
    const turn = { ticket, holdMs, ...(ttlMs !== undefined && { ttlMs }) };
    data.renewHold(session, turn).then(
      (isHeld) => isHeld && this.#renewIn(),
      // The connection may be back in time.
      () => this.#renewIn(1 / 8),
    );
  }
}
