import { drainSession } from "../memory/session/conversation-session.js";
import type { MemoryContext } from "../memory/session/memory-context.js";
import type { RedisWire } from "../store/redis-store/redis-session-store.js";
import type { KeyRing } from "../store/sealed/keys/key-ring.js";
import { closed } from "../store/contract/refusals.js";
import { defaultLimits } from "../store/contract/append-decision.js";
import type { SessionRef } from "../store/contract/session-ref.js";
import { Mailbox, type Notice } from "./mailbox.js";
import { Feed } from "./feed.js";
import { Producer } from "./producer.js";
import type { RunItem } from "./run.js";
import type { ChunkPlace, RunEnd, RunLog } from "./run-log.js";
import { RunStore, type RunMeta, type StoredRun } from "./run-store.js";
import { RunSteers, SteerStore } from "./steers.js";

/** The settings of the runs of a process. */
export interface ProcessSetting {
  readonly wire: RedisWire;
  readonly ring: KeyRing | undefined;
  readonly context: MemoryContext;
  readonly lostAfterMs: number;
  readonly batchMs: number;
  readonly maxRunBytes: number;
}

/** A reader of a log. */
interface Reading {
  readonly from: ChunkPlace;
  readonly signals: readonly (AbortSignal | undefined)[];
  readonly stored: () => Promise<readonly RunItem[]>;
}

/** The runs that this process produces, and those of others that it follows for its readers. */
export class RunProcess {
  readonly store: RunStore;
  readonly steers: SteerStore;
  readonly mailbox: Mailbox;
  /** A stop for each start that waits in this process, by its token. */
  readonly waiting = new Map<string, () => void>();
  readonly #setting: ProcessSetting;
  #isClosed = false;
  /** By session. */
  readonly #producers = new Map<string, Producer>();
  /** The calls by which runs of this process began, or are about to, with their sessions. */
  readonly #calls = new Map<string, string>();
  readonly #playing = new Set<Promise<void>>();
  readonly #feeds = new Map<string, Feed>();

  constructor(setting: ProcessSetting) {
    const { wire, ring, context, lostAfterMs } = setting;
    this.#setting = setting;
    this.store = new RunStore(wire, ring);
    const { maxMessageBytes } = context.source.limits ?? defaultLimits;
    this.steers = new SteerStore(wire, this.store, maxMessageBytes);
    this.mailbox = new Mailbox(wire, lostAfterMs, {
      notice: (notice) => this.#receive(notice),
      beat: () => {
        this.#feeds.forEach((feed) => void feed.beat());
        this.#producers.forEach((producer) => void producer.prolong());
      },
    });
    context.holds.mark = this.mailbox.instance;
    context.onClose.add(() => this.#close());
  }

  /** Begins a run of this process, or returns the one under way. */
  async begin(
    session: SessionRef,
    { owner = session.owner, ...meta }: RunMeta,
  ): Promise<StoredRun & { readonly isNew: boolean }> {
    this.#calls.set(meta.call, session.id);
    let isNew = false;
    try {
      const run = await this.store.begin(session, { ...meta, ...(owner !== undefined && { owner }) });
      ({ isNew } = run);
      return run;
    } finally {
      if (!isNew) {
        this.#calls.delete(meta.call);
      }
    }
  }

  /** The producer of a run that began here; `storedOf` returns which ids of messages the session holds. */
  producer(
    session: SessionRef,
    run: StoredRun,
    storedOf: (ids: readonly string[]) => Promise<ReadonlySet<string>>,
  ): Producer {
    const { context, batchMs, maxRunBytes: maxBytes } = this.#setting;
    const notice = { kind: "news", at: run.at, sessionId: session.id } as const;
    const notify = (instance: string) => this.mailbox.send(instance, notice);
    const drain = () => drainSession(context, session.id);
    const steers = new RunSteers(this.steers, session, { at: run.at, storedOf });
    const producer = new Producer({ store: this.store, session, run, batchMs, maxBytes, notify, drain, steers });
    this.#producers.set(session.id, producer);
    if (this.#isClosed) {
      producer.stop();
    }
    return producer;
  }

  /** Plays a run in the background. */
  play(session: SessionRef, producer: Producer, source: AsyncIterable<unknown>): void {
    void this.#ended(session, producer, producer.play(source));
  }

  /** Ends a run whose work did not begin to stream. */
  finish(session: SessionRef, producer: Producer, end: RunEnd): Promise<void> {
    return this.#ended(session, producer, producer.finish(end));
  }

  #ended({ id }: SessionRef, producer: Producer, playing: Promise<void>): Promise<void> {
    const ended = playing.finally(() => {
      this.#playing.delete(ended);
      this.#calls.delete(producer.run.meta.call);
      if (this.#producers.get(id) === producer) {
        this.#producers.delete(id);
      }
    });
    this.#playing.add(ended);
    return ended;
  }

  /** True where a run's process is dead: the run is ended as lost, unless somebody else has ended it. */
  async endIfDead(session: SessionRef, run: StoredRun): Promise<boolean> {
    const { instance, call } = run.meta;
    const isOwn = instance === this.mailbox.instance;
    if (isOwn ? this.#calls.has(call) : !(await this.mailbox.isDead(instance))) {
      return false;
    }
    const end = await this.store.end(session, run.at, { state: "lost" });
    if (end?.state === "lost") {
      await this.#giveUpHold(session, instance);
    }
    return true;
  }

  /** Stops the starts that wait, of a turn or all, wherever they are; true if there are any. */
  async stopWaiting(session: SessionRef, turnId: string | undefined): Promise<boolean> {
    const names = await this.store.stopWaiting(session, turnId);
    for (const name of names) {
      const [instance, at] = name.split(" ") as [string, string];
      // A process without a notice sees it when its turn comes.
      const isOwn = instance === this.mailbox.instance;
      await (isOwn ? undefined : this.mailbox.open().catch(() => undefined));
      const notice = { kind: "stop", at, sessionId: session.id } as const;
      await (isOwn ? this.waiting.get(at)?.() : this.mailbox.send(instance, notice).catch(() => undefined));
    }
    return names.length > 0;
  }

  /** Stops a run wherever it is. */
  async stop(session: SessionRef, run: StoredRun): Promise<boolean> {
    const { at, meta } = run;
    const own = this.#own(session.id, at);
    if (own !== undefined) {
      own.stop();
      return true;
    }
    await this.mailbox.open();
    const isHeard = await this.mailbox.send(meta.instance, { kind: "stop", at, sessionId: session.id });
    return isHeard || (await this.endIfDead(session, run)) || this.stop(session, run);
  }

  /** The run that a reader asks for: of a position, unless that is another turn's; of a turn; or the newest one. */
  async find(
    session: SessionRef,
    { turnId, at }: { readonly turnId: string | undefined; readonly at: string | undefined },
  ): Promise<StoredRun | undefined> {
    const newest = await this.store.look("joinRun", session);
    const isAsked = (meta: RunMeta | undefined) => turnId === undefined || turnId === meta?.turnId;
    if (at !== undefined && at !== newest?.at) {
      const meta = await this.store.metaOf(session, at);
      if (turnId === undefined || (meta !== undefined && isAsked(meta))) {
        // A run is followed by another one only when it has ended.
        return meta && { at, meta, end: { state: "lost" } };
      }
    }
    return isAsked(newest?.meta) ? newest : undefined;
  }

  /** The items of a run behind a place, up to its end. */
  async *read(session: SessionRef, run: StoredRun, reading: Reading): AsyncGenerator<RunItem> {
    const own = this.#own(session.id, run.at);
    if (own !== undefined) {
      yield* itemsOf(own.log, reading);
      return;
    }
    const feed = this.#feedOf(session, run);
    feed.count(1);
    try {
      if (feed.log.next === 1) {
        await feed.refresh();
        // A run that has ended may have expired since it was looked up.
        await (feed.instance === undefined && feed.log.end === undefined ? feed.lose() : this.#follow(feed));
      }
      yield* itemsOf(feed.log, reading);
    } finally {
      if (feed.count(-1)) {
        this.#leave(feed);
      }
    }
  }

  /** Messages for a run that this process produces. */
  saidTo(sessionId: string, turnId: string | undefined): RunSteers | undefined {
    const producer = this.#producers.get(sessionId);
    const isAsked = turnId === undefined || turnId === producer?.run.meta.turnId;
    return isAsked ? producer?.steers : undefined;
  }

  /** True where a run of a session may have begun in Redis, whose reply is not here yet. */
  #isBeginning(sessionId: string): boolean {
    const begun = this.#producers.get(sessionId)?.run.meta.call;
    return [...this.#calls].some(([call, session]) => session === sessionId && call !== begun);
  }

  #own(sessionId: string, at: string): Producer | undefined {
    const producer = this.#producers.get(sessionId);
    return producer?.log.at === at ? producer : undefined;
  }

  #feedOf(session: SessionRef, run: StoredRun): Feed {
    const name = nameOf(session, run.at);
    const onLost = (...lost: [SessionRef, string]) => this.#giveUpHold(...lost);
    const setting = { store: this.store, mailbox: this.mailbox, onLost };
    const feed = this.#feeds.get(name) ?? new Feed(setting, session, run);
    this.#feeds.set(name, feed);
    return feed;
  }

  async #follow({ instance, log, session }: Feed): Promise<void> {
    if (instance !== undefined && log.end === undefined) {
      await this.mailbox.send(instance, { kind: "follow", at: log.at, sessionId: session.id });
    }
  }

  #leave({ instance, log, session }: Feed): void {
    this.#feeds.delete(nameOf(session, log.at));
    if (instance !== undefined && log.end === undefined) {
      const notice = { kind: "leave", at: log.at, sessionId: session.id } as const;
      this.mailbox.send(instance, notice).catch(() => undefined);
    }
  }

  #receive({ kind, at, sessionId, from }: Notice): void {
    const producer = this.#own(sessionId, at);
    const feed = this.#feeds.get(nameOf({ id: sessionId }, at));
    switch (kind) {
      case "stop":
        this.waiting.get(at)?.();
        return producer?.stop();
      case "leave":
        return producer?.unfollow(from);
      case "news":
        return feed?.news();
      case "over":
        return void feed?.lose().catch(() => undefined);
      case "follow":
        // A reader on another instance may know of a run before this process does; it asks again.
        if (producer === undefined && !this.#isBeginning(sessionId)) {
          this.mailbox.send(from, { kind: "over", at, sessionId }).catch(() => undefined);
        }
        return producer?.follow(from);
    }
  }

  /** Releases the hold that a dead process has on a session, so that the next turn need not wait until it expires. */
  async #giveUpHold({ id }: SessionRef, instance: string): Promise<void> {
    const ticket = await this.store.ticketOf({ id });
    if (ticket?.startsWith(instance)) {
      await this.#setting.context.source.data.releaseHold({ id }, ticket);
    }
  }

  /** Stops the runs of this process and waits for their ends; readers of other runs are to go on elsewhere. */
  async #close(): Promise<void> {
    this.#isClosed = true;
    this.#producers.forEach((producer) => producer.stop());
    await Promise.all(this.#playing);
    this.#feeds.forEach(({ log }) => log.abandon());
    await this.mailbox.close();
  }
}

function nameOf({ id }: SessionRef, at: string): string {
  return `${at} ${id}`;
}

/** The items of a log behind a place. */
async function* itemsOf(log: RunLog, { from, signals, stored }: Reading): AsyncGenerator<RunItem> {
  const left = new AbortController();
  const leave = () => left.abort();
  signals.forEach((signal) => signal?.addEventListener("abort", leave, { once: true }));
  if (signals.some((signal) => signal?.aborted)) {
    leave();
  }
  try {
    yield* itemsUntil(log, { place: from, stored, signal: left.signal });
  } finally {
    signals.forEach((signal) => signal?.removeEventListener("abort", leave));
  }
}

async function* itemsUntil(
  log: RunLog,
  { place, stored, signal }: Pick<Reading, "stored"> & { place: ChunkPlace; readonly signal: AbortSignal },
): AsyncGenerator<RunItem> {
  while (!signal.aborted) {
    const next = log.behind(place);
    if (next !== undefined) {
      place = next.place;
      yield { id: log.idOf(place), chunk: next.chunk };
      continue;
    }
    if (log.end !== undefined && log.hasGiven(place) && !log.isCut) {
      yield log.end;
      return;
    }
    if (log.end !== undefined || log.isCut) {
      break;
    }
    await changed(log, signal);
  }
  if (signal.aborted) {
    return;
  }
  yield { reset: true };
  while (log.end === undefined && !signal.aborted) {
    await changed(log, signal);
  }
  if (log.end !== undefined) {
    yield* (await stored()).filter((item) => "stored" in item);
  }
  yield* log.end === undefined ? [] : [log.end];
}

/** Resolves with the next change. @throws StoreError `closed` where this process reads no more. */
async function changed(log: RunLog, signal: AbortSignal): Promise<void> {
  await (log.isAbandoned ? undefined : log.changed(signal));
  if (log.isAbandoned && !signal.aborted) {
    throw closed("joinRun", undefined);
  }
}
