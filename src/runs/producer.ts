import { setTimeout as delay } from "node:timers/promises";
import { MemoryError } from "../base/errors.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import { ChunkWriter } from "./chunk-text.js";
import { RunLog, type RunEnd } from "./run-log.js";
import type { RunSteers } from "./steers.js";
import { runTtlMs, type RunEntry, type RunStore, type StoredRun } from "./run-store.js";

/** The parts of its process that a producer uses. */
export interface ProducerSetting {
  readonly store: RunStore;
  readonly session: SessionRef;
  readonly run: StoredRun;
  /** Milliseconds for which chunks are collected before they are written. */
  readonly batchMs: number;
  /** Bytes of a run's text, from which on the rest is left out. */
  readonly maxBytes: number;
  /** Tells a process that there is something to read. */
  readonly notify: (instance: string) => Promise<boolean>;
  /** Resolves when the memory has stored what a stopped or failed run said. */
  readonly drain: () => Promise<void>;
  /** Messages for the run, which its middleware takes. */
  readonly steers: RunSteers;
}

/** Bytes that are written at once without waiting for more. */
const fullBatch = 16_384;
/** Bytes of an entry besides its text. */
const entryBytes = 100;
/** Milliseconds that a stopped source has for its last chunks. */
const stopMs = 5_000;
const [firstPauseMs, longestPauseMs] = [50, 500];
const prolongMs = runTtlMs.running / 6;
/** Milliseconds without a word, after which a run looks whether it is still there. */
const silentMs = 2_000;

/**
 * Runs the work of a run in this process, keeps its chunks for readers here, and writes them in batches, one call at a
 * time. The end is written when the memory has stored the answer.
 */
export class Producer {
  readonly log: RunLog;
  readonly stopping = new AbortController();
  readonly #setting: ProducerSetting;
  readonly #writer = new ChunkWriter();
  readonly #followers = new Set<string>();
  /** The stored text of each batch, to be written again where Redis lost the run. */
  readonly #entries: RunEntry[] = [];
  #open: string[] = [];
  #openBytes = 0;
  /** When the first chunk of the open batch came, as `performance.now()`. */
  #openSince = 0;
  #bytes = 0;
  #isTruncated = false;
  /** True for a stream that showed an interrupt. */
  #isWaiting = false;
  #isStopped = false;
  #isEnding = false;
  /** A chunk that cannot be written, which ends the run. */
  #failure: unknown;
  /** The end of a run that nothing more can be written to: another process ended it, or Redis refuses it. */
  #over: RunEnd | undefined;
  /** How many of the entries are written. */
  #written = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #prolonged = performance.now();
  /** When Redis was last known to hold the run. */
  #seen = performance.now();

  constructor(setting: ProducerSetting) {
    this.#setting = setting;
    this.log = new RunLog(setting.run.at);
  }

  get run(): StoredRun {
    return this.#setting.run;
  }

  /** Messages for the run, which its middleware takes. */
  get steers(): RunSteers {
    return this.#setting.steers;
  }

  /** Called at each beat: a silent run lives on, with what was said to it, or ends with its session. Never rejects. */
  async prolong(): Promise<void> {
    const { store, session } = this.#setting;
    const now = performance.now();
    if (!this.#isEnding && now - this.#prolonged > prolongMs) {
      this.#prolonged = now;
      await store.prolong(session).catch(() => undefined);
    }
    if (!this.#isEnding && this.#writing === undefined && now - this.#seen > silentMs) {
      this.#seen = now;
      this.#writing = this.#unlessFailed(() => this.#look()).finally(() => this.#wrote());
    }
  }

  /** Ends a run whose session was erased or cleared, or which others ended; one that Redis lost is written again. */
  async #look(): Promise<void> {
    const { store, session, run } = this.#setting;
    const newest = await this.#untilAnswered(() => store.look("addToRun", session));
    await (newest?.at === run.at && newest.end === undefined ? undefined : this.#beginAgain(newest !== undefined));
    await this.#add();
  }

  /** Stops the work; what it said is stored, and the run ends as stopped. */
  stop(): void {
    this.#isStopped = true;
    this.stopping.abort();
  }

  follow(instance: string): void {
    this.#followers.add(instance);
    void this.#notify(instance);
  }

  unfollow(instance: string): void {
    this.#followers.delete(instance);
  }

  /** Plays the chunks to the end, which is written and then announced. Never rejects. */
  async play(source: AsyncIterable<unknown>): Promise<void> {
    let end: RunEnd;
    try {
      await this.#pull(source);
      end = { state: this.#isWaiting ? "waiting" : "done" };
    } catch (error) {
      end = { state: "failed", error: codeOf(this.#failure ?? error) };
    }
    await this.finish(end);
  }

  async finish(outcome: RunEnd): Promise<void> {
    this.#isEnding = true;
    // LangChain rejects the stream of a run that is stopped.
    const end: RunEnd = this.#isStopped ? { state: "stopped" } : outcome;
    if (end.state === "stopped" || end.state === "failed") {
      await this.#setting.drain().catch(() => undefined);
    }
    try {
      await this.#writeRest();
      const isStored = end.state !== "failed";
      await this.#untilAnswered(() => this.#setting.steers.settle({ isStored }));
      this.log.finish(this.#over ?? (await this.#writeEnd(end)));
    } catch (error) {
      this.log.finish({ state: "failed", error: codeOf(error) });
    }
    await this.#notifyAll();
  }

  /** Takes chunks until there are no more; a stopped source has a while for its last ones. */
  async #pull(source: AsyncIterable<unknown>): Promise<void> {
    const { signal } = this.stopping;
    const chunks = source[Symbol.asyncIterator]();
    const tooLate = stopped(signal).then(() =>
      delay(stopMs, { done: true, value: undefined } as const, { ref: false }),
    );
    for (;;) {
      const next = chunks.next();
      next.catch(() => undefined);
      const { done, value } = await Promise.race([next, tooLate]);
      if (done) {
        void Promise.resolve(chunks.return?.()).catch(() => undefined);
        return;
      }
      this.#isWaiting ||= hasInterrupt(value);
      this.#push(value);
    }
  }

  #push(chunk: unknown): void {
    if (this.#isTruncated || this.#over !== undefined) {
      return;
    }
    let text: string;
    try {
      text = this.#writer.text(chunk);
    } catch (error) {
      this.#failure = error;
      this.stopping.abort();
      throw error;
    }
    const bytes = Buffer.byteLength(text) + 1;
    this.#bytes += bytes;
    if (this.#bytes + entryBytes * (this.#entries.length + 1) > this.#setting.maxBytes) {
      this.#isTruncated = true;
      this.log.cut();
      this.#write(0);
      return;
    }
    this.log.push(text);
    this.#openSince = this.#open.length === 0 ? performance.now() : this.#openSince;
    this.#open.push(text);
    this.#openBytes += bytes;
    this.#write(this.#patience());
  }

  /** Milliseconds for which the open batch waits for more: the time that a write before it took is taken off. */
  #patience(): number {
    const isFull = this.#openBytes >= fullBatch || this.#isTruncated;
    return isFull ? 0 : Math.max(0, this.#openSince + this.#setting.batchMs - performance.now());
  }

  /** Writes the open batch after some milliseconds, unless a write is under way, which takes it along. */
  #write(milliseconds: number): void {
    if (this.#writing !== undefined) {
      return;
    }
    if (milliseconds === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
      this.#writing = this.#writeOpen().finally(() => this.#wrote());
    } else {
      this.#timer ??= setTimeout(() => {
        this.#timer = undefined;
        this.#write(0);
      }, milliseconds);
    }
  }

  #wrote(): void {
    this.#writing = undefined;
    if (this.#hasMore && this.#over === undefined) {
      this.#write(this.#patience());
    }
  }

  /** True where chunks wait to be written, or the mark that the rest is left out. */
  get #hasMore(): boolean {
    return this.#open.length > 0 || (this.#isTruncated && this.#entries.at(-1)?.kind !== "t");
  }

  /** Closes the open batch and writes it. Never rejects: what fails ends the run. */
  #writeOpen(): Promise<void> {
    return this.#unlessFailed(async () => {
      await this.#seal();
      await this.#add();
      await this.#notifyAll();
      this.#seen = performance.now();
    });
  }

  async #unlessFailed(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#over = { state: "failed", error: codeOf(error) };
      this.stopping.abort();
    }
  }

  async #seal(): Promise<void> {
    const { store, session, run } = this.#setting;
    const texts = this.#open;
    this.#open = [];
    this.#openBytes = 0;
    if (texts.length > 0) {
      const batch = this.log.close();
      const text = await store.seal(session, run.meta, `${run.at}-${batch}`, `[${texts.join(",")}]`);
      this.#entries.push({ batch, kind: "d", text });
    }
    // Sealing takes time, in which chunks may have come that go before the mark.
    if (this.#open.length === 0 && this.#hasMore) {
      this.#entries.push({ batch: this.log.next, kind: "t", text: "" });
    }
  }

  /** Writes what is not written. While Redis is away it tries again; where Redis lost the run, it writes it again. */
  async #add(): Promise<void> {
    const { store, session, run } = this.#setting;
    while (this.#written < this.#entries.length && this.#over === undefined) {
      const entry = this.#entries[this.#written]!;
      const held = await this.#untilAnswered(() => store.add(session, run.at, entry));
      if (typeof held === "number") {
        this.#written = held;
      } else {
        await this.#beginAgain(held === "late");
      }
    }
  }

  /** Begins the run again, to be written from its first entry on; one that others ended is over. */
  async #beginAgain(isOver = false): Promise<void> {
    const { store, session, run } = this.#setting;
    await this.#untilAnswered(() => store.check("addToRun", session));
    if (isOver || !(await this.#untilAnswered(() => store.beginAgain(session, run)))) {
      this.#over = { state: "lost" };
      this.stopping.abort();
    }
    this.#written = 0;
  }

  async #writeRest(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    while ((this.#writing !== undefined || this.#hasMore) && this.#over === undefined) {
      await this.#writing;
      clearTimeout(this.#timer);
      this.#timer = undefined;
      if (this.#hasMore) {
        this.#write(0);
      }
    }
    await this.#writing;
  }

  async #writeEnd(end: RunEnd): Promise<RunEnd> {
    const { store, session, run } = this.#setting;
    for (;;) {
      const last = this.#entries.length;
      const counts = await this.#untilAnswered(() => store.endBehind(session, run.at, end, last));
      if (typeof counts === "object") {
        return counts;
      }
      if (counts === "gone") {
        await this.#beginAgain();
      } else {
        this.#written = counts;
      }
      await this.#add();
      if (this.#over !== undefined) {
        return this.#over;
      }
    }
  }

  async #untilAnswered<T>(call: () => Promise<T>): Promise<T> {
    for (let pause = firstPauseMs; ; pause = Math.min(2 * pause, longestPauseMs)) {
      try {
        return await call();
      } catch (error) {
        if (!MemoryError.isInstance(error) || !error.retryable) {
          throw error;
        }
      }
      await delay(pause);
    }
  }

  async #notifyAll(): Promise<void> {
    await Promise.all([...this.#followers].map((instance) => this.#notify(instance)));
  }

  async #notify(instance: string): Promise<void> {
    const isThere = await this.#setting.notify(instance).catch(() => true);
    if (!isThere) {
      this.#followers.delete(instance);
    }
  }
}

/** The code of an error of this package, else its name: never its text. */
export function codeOf(error: unknown): string {
  return MemoryError.isInstance(error) ? error.code : String((error as Error | undefined)?.name ?? "Error");
}

/** True for a chunk by which LangGraph says that the run waits for a human. */
function hasInterrupt(chunk: unknown, depth = 0): boolean {
  if (typeof chunk !== "object" || chunk === null) {
    return false;
  }
  if (Array.isArray(chunk)) {
    return depth < 2 && chunk.some((each) => hasInterrupt(each, depth + 1));
  }
  return Object.hasOwn(chunk, "__interrupt__");
}

function stopped(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (signal.aborted) {
      resolve();
    }
  });
}
