import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../base/errors.js";
import { randomToken } from "../base/ids.js";
import { runKeys } from "../store/redis/keys.js";
import { sendAlone } from "../store/redis/script-runner.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import { sessionLabel } from "../store/contract/refusals.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import { queueRunScript } from "./lua/scripts.js";
import { runStart } from "./run-log.js";
import type { RunProcess } from "./run-process.js";
import { runTtlMs, type StoredRun } from "./run-store.js";

/** A start that may have to wait. */
export interface WaitingTurn {
  readonly turnId: string;
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The place in the queue at which a start begins to wait; `leave`: it leaves. */
type QueuePlace = "front" | "back" | "leave";

/** The most starts that wait for the run of a session. */
const mostWaiting = 20;
const [firstPauseMs, longestPauseMs] = [25, 250];

/**
 * A start that waits for the run of another turn to end. They go in the order in which they came, on whichever
 * instances they wait; one whose process died leaves the queue, and one that is stopped never begins.
 */
export class WaitingStart {
  readonly #process: RunProcess;
  readonly #wire: RedisWire;
  readonly #session: SessionRef;
  readonly #turn: WaitingTurn;
  readonly #tooLate: AbortSignal;
  readonly #stopped = new AbortController();
  readonly #token = randomToken();
  /** The name of the start in the queue: its process, a token, and the turn. */
  readonly #name: string;
  #isQueued = false;
  /** The time of the run that was the last one when the wait began; "0" where that was a run of this turn. */
  #since: string | undefined;

  constructor(process: RunProcess, wire: RedisWire, session: SessionRef, turn: WaitingTurn) {
    this.#process = process;
    this.#wire = wire;
    this.#session = session;
    this.#turn = turn;
    this.#tooLate = AbortSignal.timeout(turn.waitMs);
    this.#name = `${process.mailbox.instance} ${this.#token} ${turn.turnId}`;
  }

  /** True for one that was in the queue: its session may have been erased or claimed meanwhile. */
  get hasWaited(): boolean {
    return this.#isQueued;
  }

  /** True where another start of the turn, which was in front, has answered it during the wait, or is about to. */
  async isAnswered(): Promise<boolean> {
    const run = this.#since === undefined ? undefined : await this.#process.store.look("startRun", this.#session);
    const isOwn = run?.meta.turnId === this.#turn.turnId && Number(run.at) > Number(this.#since);
    return isOwn && ["done", "waiting", undefined].includes(run.end?.state);
  }

  /** Queues, and waits for the end of a run and of those in front; false for a start that was stopped. */
  async behind(run: StoredRun, place: QueuePlace): Promise<boolean> {
    const [word] = await this.#queue(place);
    if (word === "STOPPED") {
      return false;
    }
    this.#since ??= run.at;
    await this.#endOf(run);
    return this.untilFirst(place);
  }

  /**
   * Queues, and waits until nobody is in front; false for a start that was stopped. Returns at once where the run of
   * the same turn is under way.
   *
   * @throws ConflictError `busy` after the longest wait; the reason of the signal.
   */
  async untilFirst(place: QueuePlace): Promise<boolean> {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      this.#refuse();
      const [word, first] = await this.#queue(place);
      if (word !== "BEHIND") {
        return word === "FIRST";
      }
      const run = await this.#process.store.look("startRun", this.#session);
      const isRunning =
        run !== undefined && run.end === undefined && !(await this.#process.endIfDead(this.#session, run));
      const isOwn = isRunning && run.meta.turnId === this.#turn.turnId;
      this.#since ??= isOwn ? "0" : (run?.at ?? "0");
      if (isOwn) {
        return true;
      }
      if (isRunning) {
        await this.#endOf(run);
        pause = firstPauseMs;
      } else if (await this.#process.mailbox.isDead(first!.split(" ")[0]!)) {
        await this.#remove(first!);
      } else {
        await delay(pause);
      }
    }
  }

  /** Leaves the queue; true where it was stopped before. */
  async leave(): Promise<boolean> {
    if (!this.#isQueued) {
      return false;
    }
    const [word] = await this.#queue("leave");
    this.#isQueued = false;
    this.#process.waiting.delete(this.#token);
    return word === "STOPPED";
  }

  /** Waits for the end of a run. @throws as {@link WaitingStart.untilFirst}. */
  async #endOf(run: StoredRun): Promise<void> {
    const signals = [this.#turn.signal, this.#tooLate, this.#stopped.signal];
    const items = this.#process.read(this.#session, run, { from: runStart, signals, stored: async () => [] });
    while (!(await items.next()).done) {
      // Only the end counts.
    }
    this.#refuse();
  }

  async #queue(place: QueuePlace): Promise<readonly [word: string, first?: string]> {
    const name = { operation: "startRun", sessionId: this.#session.id };
    this.#isQueued = true;
    this.#process.waiting.set(this.#token, () => this.#stopped.abort());
    const call = { script: queueRunScript, keys: [this.#key], writes: true };
    const args = [this.#name, runTtlMs.running, mostWaiting, place];
    const reply = (await this.#wire.runner.run(name, { ...call, args })) as [string, string?];
    if (reply[0] === "FULL") {
      throw busy(this.#session.id, `${mostWaiting} starts wait for the run`);
    }
    return reply;
  }

  async #remove(start: string): Promise<void> {
    const name = { operation: "startRun", sessionId: this.#session.id };
    await this.#wire.runner.send(name, (client) => sendAlone(client, { verb: "zrem", args: [this.#key, start] }));
  }

  get #key(): string {
    return runKeys(this.#wire.keyPrefix, this.#session.id).queue;
  }

  #refuse(): void {
    this.#turn.signal?.throwIfAborted();
    if (this.#tooLate.aborted) {
      throw busy(this.#session.id, "The run did not end in time");
    }
  }
}

/** The error of a start that another turn's run is in the way of. */
export function busy(sessionId: string, why: string): ConflictError {
  const message = `${why} (${sessionLabel(sessionId)}); nothing was started. Join it, stop it, or try again.`;
  return new ConflictError(message, { code: "busy", sessionId });
}
