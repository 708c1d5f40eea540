import { setTimeout as delay } from "node:timers/promises";
import { MemoryError } from "../base/errors.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import type { Mailbox } from "./mailbox.js";
import { RunLog, type RunEnd } from "./run-log.js";
import { entriesAtOnce, type RunEntry, type RunStore, type StoredRun } from "./run-store.js";
import { runEndIn } from "./stored-texts.js";

/** The parts of its process that a feed uses. */
export interface FeedSetting {
  readonly store: RunStore;
  readonly mailbox: Mailbox;
}

/** Milliseconds between two looks for new chunks: the longer, the longer nothing came. */
const [shortestPauseMs, longestPauseMs] = [50, 250];
/** Milliseconds without a chunk, after which a feed asks whether the run is still under way. */
const silentMs = 500;
/** Times in a row that it is not there, after which its process has not begun it again. */
const mostMissed = 6;

/** A run of another process, for all of its readers in this one. */
export class Feed {
  readonly log: RunLog;
  readonly instance: string | undefined;
  readonly session: SessionRef;
  readonly #setting: FeedSetting;
  readonly #key: string | undefined;
  #readers = 0;
  #missed = 0;
  #reading: Promise<void> | undefined;
  #isFollowing = false;

  constructor(setting: FeedSetting, session: SessionRef, { at, meta, end }: StoredRun) {
    this.#setting = setting;
    this.session = session;
    this.log = new RunLog(at);
    this.instance = end === undefined ? meta.instance : undefined;
    this.#key = meta.key;
  }

  /** Counts a reader; returns true with the last that left. */
  count(change: 1 | -1): boolean {
    this.#readers += change;
    return this.#readers === 0;
  }

  /** Reads what is new. Rejects with the error of Redis, or of the encryption. */
  refresh(): Promise<void> {
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** Reads until the end, while there are readers. Never rejects. */
  async follow(): Promise<void> {
    if (this.#isFollowing) {
      return;
    }
    this.#isFollowing = true;
    let [pause, heard] = [shortestPauseMs, performance.now()];
    while (this.#readers > 0 && this.log.end === undefined && !this.log.isAbandoned) {
      await delay(pause, undefined, { ref: false });
      const { next } = this.log;
      try {
        await this.refresh();
        const isNew = this.log.next > next;
        pause = isNew ? shortestPauseMs : Math.min(2 * pause, longestPauseMs);
        if (isNew || performance.now() - heard > silentMs) {
          await (isNew ? undefined : this.#judge());
          heard = performance.now();
        }
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#isFollowing = false;
  }

  /** Ends a silent run whose process is dead, or that stays away; a process that does not produce it ends it. */
  async #judge(): Promise<void> {
    const { mailbox, store } = this.#setting;
    const [{ id }, { at }] = [this.session, this.log];
    const newest = await store.look("joinRun", { id });
    const isLost = newest === undefined || Number(newest.at) < Number(at);
    this.#missed = isLost ? this.#missed + 1 : 0;
    const isAway = isLost ? this.#missed > mostMissed : newest.at !== at;
    if (isAway || (await mailbox.isGone(this.instance!, { at, sessionId: id }))) {
      await this.lose();
    }
  }

  /** Ends a run whose process is dead, or does not produce it any more. */
  async lose(): Promise<void> {
    await this.refresh();
    if (this.log.end === undefined) {
      const end = await this.#setting.store.end(this.session, this.log.at, { state: "lost" });
      await (end === undefined ? undefined : this.refresh());
      this.#finish(end ?? { state: "lost" }, end === undefined);
    }
  }

  #finish(end: RunEnd, isCut: boolean): void {
    if (isCut) {
      this.log.cut();
    }
    this.log.finish(end);
  }

  async #readAll(): Promise<void> {
    for (let count = entriesAtOnce; count === entriesAtOnce && this.log.end === undefined;) {
      const { at, isCut, next } = this.log;
      const entries = await this.#setting.store.read(this.session, at, isCut ? "end" : next);
      for (const entry of entries) {
        await this.#take(entry);
      }
      count = entries.length;
    }
  }

  async #take(entry: RunEntry): Promise<void> {
    const { log } = this;
    if (entry.kind === "e") {
      this.#finish(runEndIn(entry.text, this.session.id), entry.last !== log.next - 1);
    } else if (entry.batch !== log.next) {
      log.cut();
    } else if (!log.isCut) {
      const place = `${log.at}-${entry.batch}`;
      log.add(await this.#setting.store.open(this.session, place, entry.text, this.#key));
    }
  }

  /** Redis may be back at the next beat; what this process cannot open stays closed. */
  #failed(error: unknown): void {
    if (MemoryError.isInstance(error) && error.retryable) {
      return;
    }
    this.#finish({ state: "failed", error: MemoryError.isInstance(error) ? error.code : "unreadable" }, true);
  }
}
