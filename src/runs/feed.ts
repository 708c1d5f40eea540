import { entriesAtOnce, type RunEntry, type RunStore, type StoredRun, runEndIn } from "./run-store.js";
import { MemoryError } from "../base/errors.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import { RunLog, type RunEnd } from "./run-log.js";
import type { Mailbox } from "./mailbox.js";

/** The parts of its process that a feed uses. */
interface FeedSetting {
  readonly store: RunStore;
  readonly mailbox: Mailbox;
  /** Called when a run is found lost, before its readers are notified. */
  readonly onLost: (session: SessionRef, instance: string) => Promise<void>;
}

/**
 * A run of another process, for all of its readers in this one. Notices say that there is something to read; chunks are
 * read from the stream itself, so a lost notice costs time, never a chunk.
 */
export class Feed {
  readonly log: RunLog;
  readonly instance: string | undefined;
  readonly session: SessionRef;
  readonly #setting: FeedSetting;
  readonly #key: string | undefined;
  #readers = 0;
  #reading: Promise<void> | undefined;
  /** True where there may be more than the read under way finds. */
  #isStale = false;
  #gotNotice = false;
  #judging = false;

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
    this.#isStale = true;
    this.#reading ??= this.#readAll().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  /** There is something to read. */
  news(): void {
    this.#gotNotice = true;
    this.refresh().catch((error: unknown) => this.#failed(error));
  }

  /** Looks after a run without a notice since the last beat: notices may be lost, or its process dead. */
  async beat(): Promise<void> {
    if (this.#gotNotice || this.#judging || this.log.end !== undefined || this.instance === undefined) {
      this.#gotNotice = false;
      return;
    }
    this.#judging = true;
    try {
      const { at } = this.log;
      const { mailbox } = this.#setting;
      const isAlive = await mailbox.send(this.instance, { kind: "follow", at, sessionId: this.session.id });
      if (!isAlive && (await mailbox.isDead(this.instance))) {
        await this.lose();
      } else {
        await this.refresh();
      }
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#judging = false;
    }
  }

  /** Ends a run whose process is dead, or does not produce it any more. */
  async lose(): Promise<void> {
    const { store, onLost } = this.#setting;
    await this.refresh();
    if (this.log.end === undefined) {
      const end = await store.end(this.session, this.log.at, { state: "lost" });
      await (end === undefined ? undefined : this.refresh());
      await (this.instance === undefined ? undefined : onLost(this.session, this.instance));
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
    const { store } = this.#setting;
    while (this.#isStale && this.log.end === undefined) {
      this.#isStale = false;
      const entries = await store.read(this.session, this.log.at, this.log.isCut ? "end" : this.log.next);
      for (const entry of entries) {
        await this.#take(entry);
      }
      // A notice announces later entries, and each beat looks for them.
      this.#isStale ||= entries.length === entriesAtOnce;
    }
  }

  async #take(entry: RunEntry): Promise<void> {
    const { log } = this;
    if (entry.kind === "e") {
      this.#finish(runEndIn(entry.text, this.session.id), entry.last !== log.next - 1);
    } else if (entry.kind === "t" || entry.batch !== log.next) {
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
