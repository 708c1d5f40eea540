import { randomToken } from "../base/ids.js";
import { mailKey } from "../store/redis/keys.js";
import { sendAlone, type Command } from "../store/redis/script-runner.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import { keepMailboxScript } from "./lua/scripts.js";
import { noticesIn } from "./stored-texts.js";

/** A notice to a process, to stop a run of it, or to end one that it does not produce. */
export interface Notice {
  readonly kind: "stop" | "ask";
  /** The time of the run. */
  readonly at: string;
  readonly sessionId: string;
}

const mostNotices = 1_000;
/** Milliseconds after which a notice is read at the latest. */
const mailMs = 250;
const name = { operation: "mail", sessionId: "" };

/** The process of a mailbox. */
export interface MailListener {
  notice(notice: Notice): void;
  /** Called again and again for as long as the process lives. */
  beat(): void;
}

/**
 * The mail of this process, which other processes take for a sign of its life: a stream that expires where it is not
 * prolonged, and is emptied each time.
 */
export class Mailbox {
  readonly instance = randomToken();
  readonly #wire: RedisWire;
  readonly #lostAfterMs: number;
  readonly #listener: MailListener;
  #opening: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  /** When the last heartbeat of this process began, and since when each was in time, as `performance.now()`. */
  #lastBeat = -Infinity;
  #steadySince = Infinity;
  #beatWaiters: (() => void)[] = [];

  constructor(wire: RedisWire, lostAfterMs: number, listener: MailListener) {
    this.#wire = wire;
    this.#lostAfterMs = lostAfterMs;
    this.#listener = listener;
  }

  /** Opens the mailbox, once. */
  open(): Promise<void> {
    this.#opening ??= this.#keep().then(
      () => this.#beatIn(),
      (error: unknown) => {
        this.#opening = undefined;
        throw error;
      },
    );
    return this.#opening;
  }

  /** Sends a notice; false where the process has no mailbox: it is dead, or Redis lost it a moment ago. */
  async send(to: string, notice: Notice): Promise<boolean> {
    // A list, with its sender: so version 0.1.0 reads it.
    const text = JSON.stringify([{ ...notice, from: this.instance }]);
    const args = [this.#key(to), "NOMKSTREAM", "MAXLEN", "~", mostNotices, "*", "m", text];
    return (await this.#send({ verb: "xadd", args })) !== null;
  }

  /**
   * True for a process that is dead. An outage of Redis stops the heartbeats of all processes: only a process whose own
   * were in time for long enough judges others.
   */
  async isDead(instance: string): Promise<boolean> {
    for (;;) {
      const mayJudge = performance.now() - this.#steadySince >= 1.5 * this.#lostAfterMs;
      if (instance === this.instance || this.#isClosed || (await this.#exists(instance))) {
        return false;
      }
      if (mayJudge) {
        return true;
      }
      await new Promise<void>((resolve) => this.#beatWaiters.push(resolve));
    }
  }

  /** True where the process of a run is dead. One that lives and does not produce the run ends it. */
  async isGone(instance: string, run: Omit<Notice, "kind">): Promise<boolean> {
    const isDead = await this.isDead(instance);
    await (isDead ? undefined : this.send(instance, { kind: "ask", ...run }));
    return isDead;
  }

  /** Removes the mailbox. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#wakeWaiters();
    await this.#opening?.catch(() => undefined);
    if (this.#opening !== undefined) {
      await this.#send({ verb: "unlink", args: [this.#key(this.instance)] }).catch(() => undefined);
    }
  }

  #beatIn(milliseconds = Math.min(mailMs, this.#lostAfterMs / 4)): void {
    if (!this.#isClosed) {
      this.#timer = setTimeout(() => void this.#beat(), milliseconds);
      this.#timer.unref();
    }
  }

  async #beat(): Promise<void> {
    let isHeard = true;
    await this.#keep().catch(() => (isHeard = false));
    if (this.#isClosed) {
      return;
    }
    if (isHeard) {
      this.#wakeWaiters();
      this.#listener.beat();
    } else {
      this.#steadySince = Infinity;
    }
    this.#beatIn(isHeard ? undefined : Math.min(100, this.#lostAfterMs / 4));
  }

  #wakeWaiters(): void {
    this.#beatWaiters.splice(0).forEach((wake) => wake());
  }

  async #keep(): Promise<void> {
    const keys = [this.#key(this.instance)];
    const call = { script: keepMailboxScript, keys, args: [this.#lostAfterMs], writes: false };
    const began = performance.now();
    const [word, ...notices] = (await this.#wire.runner.run(name, call)) as [string, ...string[]];
    const now = performance.now();
    // Too late, as of a process that was frozen or waited for Redis: others may have taken it for dead meanwhile, and
    // their own signs of life may be as late.
    const isInTime = word === "KEPT" && now - this.#lastBeat < this.#lostAfterMs;
    this.#steadySince = isInTime && this.#steadySince < Infinity ? this.#steadySince : now;
    this.#lastBeat = began;
    noticesIn(notices).forEach((notice) => this.#listener.notice(notice));
  }

  async #exists(instance: string): Promise<boolean> {
    const key = this.#key(instance);
    const left = Number(await this.#send({ verb: "pttl", args: [key] }));
    if (left > 10 * this.#lostAfterMs) {
      // Further away than a sign of life lasts: the server's clock has fallen back.
      await this.#send({ verb: "pexpire", args: [key, this.#lostAfterMs] });
    }
    return left !== -2;
  }

  #key(instance: string): string {
    return mailKey(this.#wire.keyPrefix, instance);
  }

  #send(command: Command): Promise<unknown> {
    return this.#wire.runner.send(name, (client) => sendAlone(client, command));
  }
}
