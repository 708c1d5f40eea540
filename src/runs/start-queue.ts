import { setTimeout as delay } from "node:timers/promises";
import { ConflictError } from "../base/errors.js";
import { randomToken } from "../base/ids.js";
import { runKeys } from "../redis/keys.js";
import { sendAlone } from "../redis/script-runner.js";
import type { RedisWire } from "../redis-store/redis-session-store.js";
import { sessionLabel } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import { queueRunScript } from "./lua/scripts.js";
import { runStart } from "./run-log.js";
import type { RunProcess } from "./run-process.js";
import { runTtlMs, type StoredRun } from "./run-store.js";

/** How long a start waits for the end of the run that is under way. */
export interface Patience {
  readonly waitMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** The most starts that wait for the run of a session. */
const mostWaiting = 20;
const [firstPauseMs, longestPauseMs] = [25, 250];

/**
 * A start that waits for the run of another turn to end. Queued starts go in the order in which they came, on
 * whichever instances they wait; one whose process died leaves the queue.
 */
export class WaitingStart {
  readonly #process: RunProcess;
  readonly #wire: RedisWire;
  readonly #session: SessionRef;
  readonly #given: AbortSignal | undefined;
  readonly #tooLate: AbortSignal;
  /** The name of the start in the queue: its process, and a token. */
  readonly #name: string;
  #isQueued = false;

  constructor(process: RunProcess, wire: RedisWire, session: SessionRef, { waitMs, signal }: Patience) {
    this.#process = process;
    this.#wire = wire;
    this.#session = session;
    this.#given = signal;
    this.#tooLate = AbortSignal.timeout(waitMs);
    this.#name = `${process.mailbox.instance} ${randomToken()}`;
  }

  /** Waits for the end of a run. @throws ConflictError `busy` after the longest wait; the reason of the signal. */
  async endOf(run: StoredRun): Promise<void> {
    const reading = { from: runStart, signals: [this.#given, this.#tooLate], stored: async () => [] };
    const items = this.#process.read(this.#session, run, reading);
    while (!(await items.next()).done) {
      // Only the end counts.
    }
    this.#refuse();
  }

  /** Queues, and waits until nobody is in front. Returns at once where the run of the same turn is under way. */
  async untilFirst(turnId: string): Promise<void> {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      this.#refuse();
      const first = await this.#queue();
      if (first === undefined) {
        return;
      }
      const run = await this.#process.store.look("startRun", this.#session);
      const isRunning =
        run !== undefined && run.end === undefined && !(await this.#process.endIfDead(this.#session, run));
      if (isRunning && run.meta.turnId === turnId) {
        return;
      }
      if (isRunning) {
        await this.endOf(run);
        pause = firstPauseMs;
      } else if (await this.#process.mailbox.isDead(first.split(" ")[0]!)) {
        await this.#remove(first);
      } else {
        await delay(pause);
      }
    }
  }

  /** Leaves the queue. Never rejects: an entry that is left is removed when this process has died, or expires. */
  async leave(): Promise<void> {
    if (this.#isQueued) {
      this.#isQueued = false;
      await this.#remove(this.#name).catch(() => undefined);
    }
  }

  /** The first of the queue; undefined where that is this start. */
  async #queue(): Promise<string | undefined> {
    const { runner } = this.#wire;
    const name = { operation: "startRun", sessionId: this.#session.id };
    this.#isQueued = true;
    const args = [this.#name, runTtlMs.running, mostWaiting];
    const reply = await runner.run(name, { script: queueRunScript, keys: [this.#key], args, writes: true });
    const [word, first] = reply as [string, string?];
    if (word === "FULL") {
      throw busy(this.#session.id, `${mostWaiting} starts wait for the run`);
    }
    return word === "FIRST" ? undefined : first;
  }

  async #remove(start: string): Promise<void> {
    const name = { operation: "startRun", sessionId: this.#session.id };
    await this.#wire.runner.send(name, (client) => sendAlone(client, { verb: "zrem", args: [this.#key, start] }));
  }

  get #key(): string {
    return runKeys(this.#wire.keyPrefix, this.#session.id).queue;
  }

  #refuse(): void {
    this.#given?.throwIfAborted();
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
