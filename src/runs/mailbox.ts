import { randomToken } from "../base/ids.js";
import { inTime } from "../base/bounds.js";
import type { OwnClient } from "../store/redis/connection.js";
import { mailKey } from "../store/redis/keys.js";
import { sendAlone } from "../store/redis/script-runner.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import { keepMailboxScript } from "./lua/scripts.js";
import { noticesIn } from "./run-store.js";

/**
 * A notice to a process, about the run of a session that began at `at`. To the process that produces it: `follow`,
 * `leave` and `stop`. From it: `news` (chunks, or the end) and `over` (it does not produce this run).
 */
export interface Notice {
  readonly kind: "follow" | "leave" | "stop" | "news" | "over";
  readonly at: string;
  readonly sessionId: string;
  /** The process that sent it. */
  readonly from: string;
}

/** Notices are hints: a process that misses some looks by itself, so old ones may be dropped. */
const mostNotices = 1_000;
const blockMs = 500;
const watchdogMs = 3 * blockMs;
const late = () => "late" as const;
const name = { operation: "mail", sessionId: "" };

/** The process of a mailbox. */
interface MailListener {
  notice(notice: Notice): void;
  /** Called again and again for as long as the process lives, four times in the time after which it counts as dead. */
  beat(): void;
}

/**
 * The mail of this process, which other processes take for a sign of its life: a stream that expires where it is not
 * prolonged. One blocking read on one key serves all sessions, also in a cluster.
 */
export class Mailbox {
  readonly instance = randomToken();
  readonly #wire: RedisWire;
  readonly #lostAfterMs: number;
  readonly #listener: MailListener;
  #opening: Promise<void> | undefined;
  #client: OwnClient | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #cursor = "0";
  /** When the last heartbeat of this process began, and since when each was in time, as `performance.now()`. */
  #lastBeat = -Infinity;
  #steadySince = Infinity;
  #beatWaiters: (() => void)[] = [];

  constructor(wire: RedisWire, lostAfterMs: number, listener: MailListener) {
    this.#wire = wire;
    this.#lostAfterMs = lostAfterMs;
    this.#listener = listener;
  }

  /** Opens the mailbox, and a connection for it, once. */
  open(): Promise<void> {
    this.#opening ??= this.#open().catch((error: unknown) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  /** Sends a notice; false where the process has no mailbox: it is dead, or Redis lost it a moment ago. */
  async send(to: string, notice: Omit<Notice, "from">): Promise<boolean> {
    const { runner, keyPrefix } = this.#wire;
    const text = JSON.stringify([{ ...notice, from: this.instance }]);
    const args = [mailKey(keyPrefix, to), "NOMKSTREAM", "MAXLEN", "~", mostNotices, "*", "m", text];
    return (await runner.send(name, (client) => sendAlone(client, { verb: "xadd", args }))) !== null;
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

  /** Closes the connection and removes the mailbox. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#wakeWaiters();
    await this.#opening?.catch(() => undefined);
    this.#client?.disconnect();
    if (this.#opening !== undefined) {
      const { runner, keyPrefix } = this.#wire;
      const command = { verb: "unlink", args: [mailKey(keyPrefix, this.instance)] };
      await runner.send(name, (client) => sendAlone(client, command)).catch(() => undefined);
    }
  }

  async #open(): Promise<void> {
    const { runner, keyPrefix } = this.#wire;
    const args = ["STREAMS", mailKey(keyPrefix, this.instance), "0"];
    // Once here, so that a missing right rejects the call; the loop below goes on whatever happens.
    await Promise.all([this.#keep(), runner.send(name, (client) => sendAlone(client, { verb: "xread", args }))]);
    this.#client = await this.#wire.another();
    void this.#read(this.#client);
    this.#beatIn();
  }

  #beatIn(milliseconds = this.#lostAfterMs / 4): void {
    this.#timer = setTimeout(() => void this.#beat(), milliseconds);
    this.#timer.unref();
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
    const { runner, keyPrefix } = this.#wire;
    const keys = [mailKey(keyPrefix, this.instance)];
    const call = { script: keepMailboxScript, keys, args: [this.#lostAfterMs], writes: false };
    const began = performance.now();
    const [word] = (await runner.run(name, call)) as [string];
    const now = performance.now();
    // Too late, as of a process that was frozen or waited for Redis: others may have taken it for dead meanwhile, and
    // their own signs of life may be as late.
    const isInTime = word === "KEPT" && now - this.#lastBeat < this.#lostAfterMs;
    this.#steadySince = isInTime && this.#steadySince < Infinity ? this.#steadySince : now;
    this.#lastBeat = began;
    if (word === "NEW") {
      this.#cursor = "0";
    }
  }

  async #exists(instance: string): Promise<boolean> {
    const { runner, keyPrefix } = this.#wire;
    const key = mailKey(keyPrefix, instance);
    const left = Number(await runner.send(name, (client) => sendAlone(client, { verb: "pttl", args: [key] })));
    if (left > 10 * this.#lostAfterMs) {
      // Further away than a sign of life lasts: the server's clock has fallen back.
      const command = { verb: "pexpire", args: [key, this.#lostAfterMs] };
      await runner.send(name, (client) => sendAlone(client, command));
    }
    return left !== -2;
  }

  /** Reads the mail until the mailbox is closed; a read that gets no answer is given up with its connection. */
  async #read(client: OwnClient): Promise<void> {
    const key = mailKey(this.#wire.keyPrefix, this.instance);
    while (!this.#isClosed) {
      const cursor = this.#cursor;
      const args = ["BLOCK", blockMs, "STREAMS", key, cursor];
      const reply = await inTime(client.call("xread", args), watchdogMs, late).catch(() => "failed" as const);
      if (reply === "failed" || reply === "late") {
        if (reply === "late") {
          client.disconnect(true);
        }
        await new Promise<void>((resolve) => setTimeout(resolve, 100).unref());
      } else if (!this.#isClosed) {
        this.#deliver(cursor, entriesIn(reply));
      }
    }
  }

  #deliver(cursor: string, entries: readonly (readonly [id: string, fields: readonly string[]])[]): void {
    for (const [id, [, text]] of entries) {
      noticesIn(text).forEach((notice) => this.#listener.notice(notice));
      // A mailbox that was made again meanwhile is read from its beginning.
      this.#cursor = this.#cursor === cursor ? id : this.#cursor;
      cursor = this.#cursor === id ? id : cursor;
    }
  }
}

/** The entries of the one stream that XREAD names: a list of pairs, or an object by the protocol of Redis 6. */
function entriesIn(reply: unknown): [string, string[]][] {
  const streams = Array.isArray(reply) ? (reply as unknown[]) : Object.entries(reply ?? {});
  return (streams as [string, [string, string[]][]][])[0]?.[1] ?? [];
}
