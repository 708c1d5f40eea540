import { AsyncLocalStorage } from "node:async_hooks";
import type { SessionHold } from "../../../store/contract/session-ref.js";
import type { ConversationSession } from "../conversation-session.js";
import type { TakeTurnOptions } from "./acquire-hold.js";

/** An acquired hold, and how its run uses it. */
export interface HeldTurnParts extends Pick<TakeTurnOptions, "owner" | "holdMs" | "longestMs" | "isCaller"> {
  readonly ticket: string;
  readonly hold: Required<SessionHold>;
}

/** The turns around the running code, as far as it was called by their `within`. */
const running = new AsyncLocalStorage<readonly HeldTurn[]>();

/** The turns that this process holds through one memory. */
export class LocalHolds {
  /** Several of a session, if one lost its hold and does not know it yet. */
  readonly #held = new Map<string, Set<HeldTurn>>();

  /** True while this process holds the session, as far as it knows. */
  has(sessionId: string): boolean {
    return this.#held.has(sessionId);
  }

  add(turn: HeldTurn): void {
    this.#held.set(turn.sessionId, (this.#held.get(turn.sessionId) ?? new Set()).add(turn));
  }

  delete(turn: HeldTurn): void {
    const turns = this.#held.get(turn.sessionId);
    turns?.delete(turn);
    if (turns?.size === 0) {
      this.#held.delete(turn.sessionId);
    }
  }

  /** The turn of the session in whose run the calling code is. */
  around(sessionId: string): HeldTurn | undefined {
    return [...(this.#held.get(sessionId) ?? [])].find((turn) => turn.isCaller());
  }

  /** Releases all holds, for a memory that is closed while runs are under way. */
  async releaseAll(): Promise<void> {
    await Promise.all([...this.#held.values()].flatMap((turns) => [...turns]).map((turn) => turn.release()));
  }
}

/** Place of the calling code inside a turn of the session, which it would wait for; undefined outside of one. */
export function placeWithin({ sessionId, context }: ConversationSession): string | undefined {
  const around = context.holds.around(sessionId);
  if (around !== undefined) {
    return `in a tool or hook of a run that holds the same session (${around.owner})`;
  }
  const isWithin = (running.getStore() ?? []).some((turn) => turn.isOf(context.source, sessionId));
  return isWithin ? "within a turn of the same session" : undefined;
}

/** A hold on a session: renewed until it is released or lost, or its run shows no activity. */
export class HeldTurn {
  readonly #session: ConversationSession;
  readonly #parts: HeldTurnParts & { readonly longestMs: number };
  /** The session without the hold, which another turn may have by now. */
  readonly #ref: ConversationSession["ref"];
  readonly #onRelease: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** When the run is taken to be over, unless it shows activity. */
  #lapsesAt: number;
  #isOver = false;
  #hasLapsed = false;
  #released: Promise<void> | undefined;

  constructor(session: ConversationSession, { longestMs = Infinity, ...parts }: HeldTurnParts) {
    this.#session = session;
    this.#parts = { longestMs, ...parts };
    this.#ref = session.ref;
    this.#onRelease = session.writeWithin(parts.hold);
    this.#lapsesAt = performance.now() + longestMs;
    session.context.holds.add(this);
    this.#renewIn();
  }

  get sessionId(): string {
    return this.#session.sessionId;
  }

  /** The holder, which begins error messages. */
  get owner(): string {
    return this.#parts.owner;
  }

  /** The ticket, for the write that releases the hold. */
  get ticket(): string {
    return this.#parts.ticket;
  }

  /** True for a hold that was released because its run showed no activity for too long. */
  get hasLapsed(): boolean {
    return this.#hasLapsed;
  }

  /** True if the calling code is part of the holding run, and would wait for itself. */
  isCaller(): boolean {
    return this.#parts.isCaller?.() === true;
  }

  isOf(store: object, sessionId: string): boolean {
    return !this.#isOver && this.#session.context.source === store && this.sessionId === sessionId;
  }

  /** Records activity of the holding run, which may be silent for so many milliseconds now. */
  signOfLife(silenceMs = this.#parts.longestMs): void {
    this.#lapsesAt = performance.now() + silenceMs;
  }

  /** Runs a function inside the turn: a nested turn of the session is refused at once. */
  async within<Result>(run: () => Result | Promise<Result>): Promise<Result> {
    return running.run([...(running.getStore() ?? []), this], run);
  }

  /** Releases the hold. Never rejects: if Redis is unreachable, it expires by itself. */
  release(): Promise<void> {
    this.#end();
    this.#released ??= this.#data.releaseHold(this.#ref, this.ticket).catch(() => undefined);
    return this.#released;
  }

  /** Records that a write released the hold, so that nothing more is sent. */
  wasGivenBack(): void {
    this.#end();
    this.#released ??= Promise.resolve();
  }

  get #data() {
    return this.#session.context.store.data;
  }

  #end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#session.context.holds.delete(this);
    this.#onRelease();
  }

  /** Renews the hold after a third of its time, so that a short turn sends nothing. */
  #renewIn(share = 1 / 3): void {
    if (!this.#isOver) {
      const { ttlMs = Infinity } = this.#session.context;
      const span = Math.min(this.#parts.holdMs, ttlMs);
      this.#timer = setTimeout(() => this.#renew(), Math.max(1, Math.floor(span * share)));
      this.#timer.unref();
    }
  }

  #renew(): void {
    this.#hasLapsed = performance.now() > this.#lapsesAt;
    if (this.#hasLapsed) {
      void this.release();
      return;
    }
    const { ttlMs } = this.#session.context;
    const turn = { ticket: this.ticket, holdMs: this.#parts.holdMs, ...(ttlMs !== undefined && { ttlMs }) };
    this.#data.renewHold(this.#ref, turn).then(
      (isHeld) => isHeld && this.#renewIn(),
      // The connection may be back in time.
      () => this.#renewIn(1 / 8),
    );
  }
}
