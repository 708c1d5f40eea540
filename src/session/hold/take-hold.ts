import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { requireGroup } from "../../store/groups.js";
import { randomToken } from "../../base/ids.js";
import type { SessionBeside } from "../../store/beside.js";
import type { HoldPlace, HoldRequest } from "../../store/holds.js";
import type { SessionHold, SessionRef } from "../../store/session-ref.js";
import type { ConversationSession, TakingCall } from "../conversation-session.js";
import type { HoldTimes } from "./options.js";
import { isWithin, type LinePlace, RunningTurn, type SpentTickets } from "./local-holds.js";

const [shortestPauseMs, longestPauseMs] = [15, 500];
/** Longer than any pause between two calls of a waiter that lives. */
const graceMs = 2_000;

/** How to take a turn. */
export interface TakeTurnOptions extends Required<HoldTimes> {
  /** Caller, which begins error messages. */
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
  refuseNested(session, options.owner);
  const { held } = await take(session, options);
  return held!;
}

/** The hold of a run that is taken by its first call on the session. */
export interface RunHold {
  /** The hold; undefined until it is taken, and for a turn that needs none because it is stored with its answer. */
  readonly held: HeldTurn | undefined;
}

/**
 * Lets the next call on the session take its hold in the same step: a read for a turn, or the write of its beginning,
 * which are sent again once the hold is there where others had it. Undefined where the run goes without, because nobody
 * `isAsked` for a hold: on a store without holds, and within a turn of the same session, of which the run is a part.
 *
 * @throws what {@link takeTurn} throws; `busy` and an AbortError are thrown by that call.
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

/** Takes the hold again for a run that lost it; undefined where the run goes without. */
export async function holdAgain(
  session: ConversationSession,
  { isAsked, ...options }: TakeTurnOptions & { readonly isAsked: boolean },
): Promise<HeldTurn | undefined> {
  return mayHold(session, { owner: options.owner, isAsked }) ? (await take(session, options)).held : undefined;
}

/**
 * False where a run goes without a hold that nobody asked for.
 *
 * @throws ConflictError `nested_turn` where somebody did.
 */
export function mayHold(
  session: ConversationSession,
  { owner, isAsked }: { readonly owner: string; readonly isAsked: boolean },
): boolean {
  if (isAsked) {
    refuseNested(session, owner);
    return true;
  }
  return session.context.store.beside !== undefined && placeWithin(session) === undefined;
}

/**
 * Takes the hold, with the call where there is one. No `held` where that call needed none; no `result` where the hold
 * was waited for.
 */
async function take<Result extends { readonly place?: HoldPlace }>(
  session: ConversationSession,
  options: TakeTurnOptions,
  call?: TakingCall<Result>,
): Promise<{ readonly held?: HeldTurn; readonly result?: Result }> {
  const { owner, waitMs, holdMs, longestMs = Infinity, signal, isCaller = () => false } = options;
  signal?.throwIfAborted();
  const { sessionId, ref, context } = session;
  const { beside = requireGroup(owner, context.store, "beside").beside } = context.store;
  const { ttlMs, holds, source } = context;
  const { spent } = holds;
  const ticket = randomToken();
  const entry = { ticket, holdMs, graceMs, ...(ttlMs !== undefined && { ttlMs }) };
  const deadline = performance.now() + waitMs;
  const waiting = { session: ref, waitMs, signal, deadline, ...watching(session) };
  const { hold, result } = await inLine(holds.join(sessionId), waiting, async () => {
    try {
      await spent.giveBackAll(sessionId);
      const first = await call?.(entry);
      return first !== undefined && first.place?.isHeld !== false
        ? { hold: first.place?.hold, result: first }
        : { hold: await enter(beside, entry, { ...waiting, place: first?.place }) };
    } catch (error) {
      session.inBackground(spent.giveBack({ beside, session: ref, ticket, holdMs }));
      throw error;
    }
  });
  if (hold === undefined) {
    return { ...(result && { result }) };
  }
  const giveBack = session.writeWithin(hold);
  const forget = holds.note(sessionId, { owner, isCaller, release: () => turn.release() });
  const onRelease = () => {
    giveBack();
    forget();
  };
  const parts = { beside, store: source, session: ref, ticket, holdMs, ttlMs, longestMs, spent, onRelease };
  const turn = new HeldTurn(parts);
  return { held: turn, ...(result && { result }) };
}

/** The event of a wait, raised once, and a check whether this process holds the session. */
function watching(session: ConversationSession) {
  const isHeldHere = () => session.context.holds.has(session.sessionId);
  return { isHeldHere, waits: onceToldOf(session) };
}

/** Refuses a turn that would wait for the code that waits for it. */
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
async function enter(
  beside: SessionBeside,
  entry: HoldRequest,
  waiting: Waiting & { readonly place: HoldPlace | undefined },
): Promise<Required<SessionHold>> {
  const { session, deadline, signal } = waiting;
  let place = { ahead: -1, since: performance.now() };
  let found = waiting.place ?? (await beside.takeHold(session, entry));
  for (;;) {
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
    found = await beside.takeHold(session, entry);
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

/** Parts of an acquired hold, for its renewal and release. */
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
  /** Milliseconds for which a renewal lasts. */
  readonly #span: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #lastSign = performance.now();
  #isWorking = false;
  #isOver = false;
  #released: Promise<void> | undefined;

  constructor(parts: HeldTurnParts) {
    this.#parts = parts;
    const { store, session, holdMs, ttlMs = Infinity } = parts;
    this.#running = new RunningTurn(store, session.id);
    this.#span = Math.min(holdMs, ttlMs);
    this.#renewIn();
  }

  /** The ticket, for the write with which the turn is given back. */
  get ticket(): string {
    return this.#parts.ticket;
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
    const { beside, session, ticket, holdMs, spent } = this.#parts;
    this.#end();
    this.#released ??= spent.giveBack({ beside, session, ticket, holdMs });
    return this.#released;
  }

  /** The turn was given back by a write: nothing more is sent for it. */
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

  /** Renews the turn once a share of its time is over: a third costs a short turn nothing. */
  #renewIn(share = 1 / 3): void {
    if (!this.#isOver) {
      this.#timer = setTimeout(() => this.#renew(), Math.max(1, Math.floor(this.#span * share)));
      this.#timer.unref();
    }
  }

  #renew(): void {
    const { beside, session, ticket, holdMs, ttlMs, longestMs } = this.#parts;
    if (this.#isWorking || performance.now() - this.#lastSign <= longestMs) {
      const turn = { ticket, holdMs, ...(ttlMs !== undefined && { ttlMs }) };
      beside.renewHold(session, turn).then(
        (isHeld) => isHeld && this.#renewIn(),
        // The connection may be back in time.
        () => this.#renewIn(1 / 8),
      );
    }
  }
}
