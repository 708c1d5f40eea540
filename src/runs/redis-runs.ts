import * as z from "zod/mini";
import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { fitsBytes } from "../base/bounds.js";
import { ConfigurationError } from "../base/errors.js";
import { randomToken } from "../base/ids.js";
import { anyText, lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../base/options.js";
import { contextOf, type RedisChatMemory } from "../memory/histories/redis-chat-memory.js";
import { sessionOf } from "../memory/histories/redis-chat-message-history.js";
import { wireOf, type RedisWire } from "../store/redis-store/redis-session-store.js";
import { sealedParts } from "../store/sealed/loaded-store.js";
import type { ConversationSession } from "../memory/session/conversation-session.js";
import { checkOwnerName } from "../memory/session/identity.js";
import type { MemoryContext } from "../memory/session/memory-context.js";
import { checkSessionId, limitedText, mostBytes, type SessionRef } from "../store/contract/session-ref.js";
import { storedIds } from "../memory/turns/open-turn.js";
import type { SaidToRun, SteeredRuns } from "../memory/turns/turn-setting.js";
import { RunProcess } from "./run-process.js";
import { codeOf } from "./producer.js";
import { Run, type RunItem, storedAnswer } from "./run.js";
import { positionIn, runStart, type RunEndState, type RunPosition } from "./run-log.js";
import type { StoredRun } from "./run-store.js";
import { busy, WaitingStart } from "./start-queue.js";
import { steerMessage } from "./steers.js";

/** Options of {@link redisRuns}. */
export interface RedisRunsOptions {
  /**
   * Milliseconds after which a process that gives no sign of life counts as dead, and its runs as lost; at least 100.
   * @default 2_000
   */
  readonly lostAfterMs?: number;
  /** Milliseconds for which chunks are collected before they are written; 0 does not wait. @default 50 */
  readonly batchMs?: number;
  /** Bytes of a run that readers can get, text and 100 for each batch; the rest is left out. @default 8_000_000 */
  readonly maxRunBytes?: number;
}

/** Whose run it is. */
export interface RunAccess {
  /** The owner of the session: a run of another owner is refused. @default none: ownership is not checked */
  readonly owner?: string;
}

/** Options of {@link RedisRuns.start}. */
export interface StartOptions extends RunAccess {
  /** The id of the turn, the same for each try: a run of the same turn that is under way is joined. */
  readonly turnId: string;
  /**
   * While the run of another turn is under way: refuse (ConflictError `busy`), wait for its end (`queue`, in the order
   * in which they came, 20 at most), stop it first and go in front of those that wait, or say `message` to it, as
   * `steer` does: `start` then returns a reader of that run, or waits for its end where it sees nothing more, so that
   * the message is the next turn.
   * @default "refuse"
   */
  readonly whileRunning?: "refuse" | "queue" | "stop" | "steer";
  /** The user message, for `steer`; one with an id is said once however often it is sent. */
  readonly message?: BaseMessageLike;
  /** Milliseconds after which a start that waits is refused (ConflictError `busy`). @default 600_000 */
  readonly waitMs?: number;
  /** Ends the waiting of a start; a run that has begun goes on. */
  readonly signal?: AbortSignal;
}

/** Options of {@link RedisRuns.join}. */
export interface JoinOptions extends RunAccess {
  /** The turn: after its run, its stored answer. @default the newest run of the session */
  readonly turnId?: string;
  /** The id of the last item that the reader has, as of `Last-Event-ID`. @default from the beginning */
  readonly after?: string | null;
  /** Ends the reader; the run goes on. */
  readonly signal?: AbortSignal;
}

/** Options of {@link RedisRuns.stop}. */
export interface StopOptions extends RunAccess {
  /** Stops this turn only, whether it runs or waits. @default the run and all that wait */
  readonly turnId?: string;
}

/** A run of a session. */
export interface ActiveRun {
  /** The turn. */
  readonly turnId: string;
  /** `waiting`: it waits for a human. */
  readonly state: "running" | Extract<RunEndState, "waiting">;
  /** When it began, in milliseconds since 1970, by the clock of Redis. */
  readonly since: number;
}

/** The work of a run: a stream of a chain, an agent or a graph, or any other async iterable, which ends on `signal`. */
export type RunWork<Chunk> = (signal: AbortSignal) => AsyncIterable<Chunk> | PromiseLike<AsyncIterable<Chunk>>;

const optionsSchema = lazy(() =>
  z.strictObject({
    lostAfterMs: z._default(positiveInteger().check(z.minimum(100, "must be at least 100")), 2_000),
    batchMs: z._default(nonNegativeInteger(), 50),
    maxRunBytes: z._default(positiveInteger(), 8_000_000),
  }),
);
const accessFields = { owner: z.optional(z.unknown()) };
const startSchema = lazy(() =>
  z.strictObject({
    ...accessFields,
    turnId: limitedText("id"),
    whileRunning: z._default(
      z.enum(["refuse", "queue", "stop", "steer"], 'must be "refuse", "queue", "stop" or "steer"'),
      "refuse",
    ),
    message: z.optional(z.custom<BaseMessageLike>()),
    waitMs: z._default(positiveInteger().check(z.maximum(2 ** 31 - 1, "must be at most 2147483647")), 600_000),
    signal: z.optional(z.custom<AbortSignal>()),
  }),
);
const joinSchema = lazy(() =>
  z.strictObject({
    ...accessFields,
    turnId: z.optional(limitedText("id")),
    after: z.optional(
      z.nullable(anyText().check(z.refine((text) => fitsBytes(text, mostBytes.id), "must be a position of a run"))),
    ),
    signal: z.optional(z.custom<AbortSignal>()),
  }),
);
const stopSchema = lazy(() => z.strictObject({ ...accessFields, turnId: z.optional(limitedText("id")) }));
const activeSchema = lazy(() => z.strictObject(accessFields));

const runsByContext = new WeakMap<MemoryContext, RedisRuns>();

/**
 * The running answers of a memory: a run goes on when its reader leaves, and is read, joined and stopped from any
 * instance.
 *
 * One for each memory: later calls return the first. Opens one more connection with the first `start` or `join`;
 * `memory.close()` stops the runs of this process and closes it. Needs Redis 6.2 or Valkey.
 *
 * @throws ConfigurationError `memory` for a memory that is not on Redis, and for invalid options.
 * @example
 * import { ChatOpenAI } from "@langchain/openai";
 * import { RedisChatMemory, sessionConfig, withRedisMemory } from "langchain-redis-memory";
 * import { redisRuns } from "langchain-redis-memory/runs";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const chat = withRedisMemory(new ChatOpenAI({ model: "gpt-4o-mini" }), { memory });
 * const runs = redisRuns(memory);
 * const session = { sessionId: "chat-7", turnId: "question-1" };
 * const run = await runs.start("chat-7", { turnId: "question-1" }, (signal) =>
 *   chat.stream("Hi", { ...sessionConfig(session), signal }),
 * );
 * for await (const item of run) {
 *   console.log(item); // { id, chunk } … { state: "done" }
 * }
 * await memory.close();
 */
export function redisRuns(memory: RedisChatMemory, options: RedisRunsOptions = {}): RedisRuns {
  const settings = parseOptions("redisRuns", optionsSchema(), options);
  const context = contextOf(memory);
  const sealed = context && sealedParts(context.source);
  const wire = context && wireOf(sealed?.store ?? context.source);
  if (wire === undefined) {
    throw new ConfigurationError("memory", 'redisRuns: "memory" must be a RedisChatMemory on Redis.');
  }
  const runs =
    runsByContext.get(context!) ??
    RedisRuns["make"](memory, wire, new RunProcess({ ...settings, wire, ring: sealed?.keys.ring, context: context! }));
  runsByContext.set(context!, runs);
  return runs;
}

/** Starts, reads and stops runs: see {@link redisRuns}. */
export class RedisRuns implements SteeredRuns {
  readonly #memory: RedisChatMemory;
  readonly #wire: RedisWire;
  readonly #process: RunProcess;

  private constructor(memory: RedisChatMemory, wire: RedisWire, process: RunProcess) {
    this.#memory = memory;
    this.#wire = wire;
    this.#process = process;
  }

  private static make(memory: RedisChatMemory, wire: RedisWire, process: RunProcess): RedisRuns {
    return new RedisRuns(memory, wire, process);
  }

  /**
   * Starts a run, whose chunks readers get from the first on. Resolves when its work has begun to stream; before that,
   * the run is active already, and can be joined and stopped.
   *
   * @throws ConflictError `busy` (retryable) where another turn's run is under way, or did not end within `waitMs`,
   *   `other_owner`; the reason of a `signal` that aborts while it waits; StoreError, `erased`
   *   for a session that was erased; RecordError `corrupt`; ConfigurationError; errors of the work before its first
   *   chunk.
   */
  async start<Chunk>(sessionId: string, options: StartOptions, work: RunWork<Chunk>): Promise<Run<Chunk>> {
    const { owner, message, ...how } = parseOptions("runs.start", startSchema(), options);
    const said = how.whileRunning === "steer" ? steerMessage("runs.start", message) : undefined;
    const session = refOf("runs.start", sessionId, owner);
    const { store, mailbox } = this.#process;
    await mailbox.open();
    await store.check("startRun", session);
    const waiting = new WaitingStart(this.#process, this.#wire, session, how);
    try {
      const isNext = how.whileRunning !== "queue" || (await waiting.untilFirst("back"));
      return isNext ? await this.#startWhere(session, { ...how, said, waiting }, work) : stoppedRun();
    } finally {
      // An entry that is left is removed when this process has died, or expires.
      await waiting.leave().catch(() => undefined);
    }
  }

  async #startWhere<Chunk>(session: SessionRef, start: AskedStart, work: RunWork<Chunk>): Promise<Run<Chunk>> {
    const { turnId, whileRunning, said, waiting } = start;
    for (;;) {
      const instance = this.#process.mailbox.instance;
      await (waiting.hasWaited ? this.#process.store.check("startRun", session) : undefined);
      if (await waiting.isAnswered()) {
        return this.#reader(session, { turnId });
      }
      const run = await this.#process.begin(session, { turnId, instance, call: randomToken() });
      if (run.isNew) {
        return this.#play(session, run, (await waiting.leave()) ? undefined : work);
      }
      if (run.meta.turnId === turnId) {
        return this.#reader(session, { turnId });
      }
      if (await this.#process.endIfDead(session, run)) {
        continue;
      }
      if (said !== undefined && (await this.#process.steers.add(session, run.at, said))) {
        return this.#reader(session, { turnId: run.meta.turnId });
      }
      if (whileRunning === "refuse") {
        throw busy(session.id, "A run is under way");
      }
      if (whileRunning === "stop") {
        await this.#process.stop(session, run);
      }
      if (!(await waiting.behind(run, whileRunning === "stop" ? "front" : "back"))) {
        return stoppedRun();
      }
    }
  }

  /**
   * A reader of a run, from any position, on any instance. Nothing is sent before it is iterated.
   *
   * Behind the end of a run, for which chunks stay for two minutes, it is the stored answer of the turn; where there is
   * neither, it is empty.
   *
   * @throws ConfigurationError; while it is iterated: ConflictError `other_owner`, StoreError, EncryptionError,
   *   RecordError `corrupt`.
   */
  join<Chunk = unknown>(sessionId: string, options: JoinOptions = {}): Run<Chunk> {
    const { owner, after, ...rest } = parseOptions("runs.join", joinSchema(), options);
    const session = refOf("runs.join", sessionId, owner);
    // A browser's first request has no Last-Event-ID.
    const isGiven = typeof after === "string" && after !== "";
    const position = isGiven ? positionIn(after) : undefined;
    if (isGiven && position === undefined) {
      throw new ConfigurationError("after", 'runs.join: option "after" must be the id of an item of a run.');
    }
    return this.#reader(session, { ...rest, position });
  }

  /**
   * Stops what a session has under way, on whichever instances: the run, whose partial answer is stored, and the starts
   * that wait, whose work is never called and whose runs end as `stopped`. With `turnId`, only what is of that turn,
   * running or waiting. True where the run's process received it or was dead, or a start waited; false where there is
   * nothing to stop. Readers receive the end when it is stored.
   *
   * @throws ConflictError `other_owner`; StoreError; RecordError `corrupt`.
   */
  async stop(sessionId: string, options: StopOptions = {}): Promise<boolean> {
    const { turnId, owner } = parseOptions("runs.stop", stopSchema(), options);
    const session = refOf("runs.stop", sessionId, owner);
    await this.#look("stopRun", session);
    const isRemoved = await this.#process.stopWaiting(session, turnId);
    // A start that waited may have begun meanwhile.
    const run = await this.#process.store.look("stopRun", session);
    if (run === undefined || run.end !== undefined || (turnId !== undefined && turnId !== run.meta.turnId)) {
      return isRemoved;
    }
    return (await this.#process.stop(session, run)) || isRemoved;
  }

  /**
   * Says a user message to the agent that runs, on whichever instance it is: the agent's `steeringMiddleware` adds it
   * before the next model call, and the memory stores it in the turn. `idle`: nothing took it, because no run is under
   * way, it has its last answer, or its work has no such middleware; start a turn with it.
   *
   * Idempotent for a message with an id. Three round trips.
   *
   * @throws ConfigurationError `message` for another role; ConflictError `other_owner`, and `busy` for a run that was
   *   given 100 messages; StoreError, `too_large` beyond `limits.maxMessageBytes`, `erased`;
   *   RecordError `corrupt`.
   */
  async steer(sessionId: string, message: BaseMessageLike, options: RunAccess = {}): Promise<"steered" | "idle"> {
    const { owner } = parseOptions("runs.steer", activeSchema(), options);
    const session = refOf("runs.steer", sessionId, owner);
    const said = steerMessage("runs.steer", message);
    const run = await this.#look("steerRun", session);
    const isOver = run === undefined || run.end !== undefined;
    return !isOver && (await this.#process.steers.add(session, run.at, said)) ? "steered" : "idle";
  }

  /** Messages for the run of a session that this process produces: for `steeringMiddleware`. */
  saidTo(sessionId: string, turnId?: string): SaidToRun | undefined {
    return this.#process.saidTo(sessionId, turnId);
  }

  /**
   * The run of a session that is under way or waits for a human, until the next run of the session. Two round trips.
   *
   * @throws ConflictError `other_owner`; StoreError; RecordError `corrupt`.
   */
  async active(sessionId: string, options: RunAccess = {}): Promise<ActiveRun | undefined> {
    const { owner } = parseOptions("runs.active", activeSchema(), options);
    const session = refOf("runs.active", sessionId, owner);
    const run = await this.#look("activeRun", session);
    const state = run?.end?.state ?? "running";
    const isActive = state === "running" || state === "waiting";
    return run && isActive ? { turnId: run.meta.turnId, state, since: Number(run.at) } : undefined;
  }

  async #look(operation: string, session: SessionRef): Promise<StoredRun | undefined> {
    const { store } = this.#process;
    await store.check(operation, session);
    return store.look(operation, session);
  }

  #sessionOf(user: string, { id, owner }: SessionRef): ConversationSession {
    return sessionOf(user, this.#memory.history(id, owner === undefined ? {} : { owner }));
  }

  /** Plays a run that has begun; without work, one that was stopped while it waited. */
  async #play<Chunk>(session: SessionRef, run: StoredRun, work?: RunWork<Chunk>): Promise<Run<Chunk>> {
    const storedOf = (ids: readonly string[]) => storedIds(this.#sessionOf("runs.start", session), ids);
    const producer = this.#process.producer(session, run, storedOf);
    const position = { at: run.at, place: runStart };
    const reader = this.#reader<Chunk>(session, { turnId: run.meta.turnId, position });
    if (work === undefined) {
      await this.#process.finish(session, producer, { state: "stopped" });
      return reader;
    }
    let source: AsyncIterable<Chunk>;
    try {
      source = await work(producer.stopping.signal);
      if (typeof (source as Partial<AsyncIterable<Chunk>> | null)?.[Symbol.asyncIterator] !== "function") {
        throw new ConfigurationError("work", "runs.start: the work must return an async iterable, such as a stream.");
      }
    } catch (error) {
      const isStopped = producer.stopping.signal.aborted;
      await this.#process.finish(session, producer, { state: "failed", error: codeOf(error) });
      if (isStopped) {
        return reader;
      }
      throw error;
    }
    this.#process.play(session, producer, source);
    return reader;
  }

  #reader<Chunk>(session: SessionRef, request: Asked): Run<Chunk> {
    return new Run((signal) => this.#read(session, request, signal));
  }

  async *#read(
    session: SessionRef,
    { turnId, position, signal }: Asked,
    other: AbortSignal | undefined,
  ): AsyncGenerator<RunItem> {
    const answer = (name: string | undefined) => storedAnswer(this.#sessionOf("runs.join", session), name);
    await this.#process.mailbox.open();
    await this.#process.store.check("joinRun", session);
    const run = await this.#process.find(session, { turnId, at: position?.at });
    const isElsewhere = position !== undefined && position.at !== run?.at;
    yield* isElsewhere ? [{ reset: true } as const] : [];
    if (run === undefined) {
      yield* await answer(turnId);
      return;
    }
    const from = isElsewhere ? runStart : (position?.place ?? runStart);
    const stored = () => answer(run.meta.turnId);
    yield* this.#process.read(session, run, { from, signals: [signal, other], stored });
  }
}

/** The request of a start. */
interface AskedStart {
  readonly turnId: string;
  readonly whileRunning: NonNullable<StartOptions["whileRunning"]>;
  readonly said: BaseMessage | undefined;
  readonly waiting: WaitingStart;
}

/** The request of a reader. */
interface Asked {
  readonly turnId?: string | undefined;
  readonly position?: RunPosition | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The run of a start that was stopped while it waited. */
function stoppedRun<Chunk>(): Run<Chunk> {
  return new Run(async function* () {
    yield { state: "stopped" };
  });
}

function refOf(user: string, sessionId: string, owner: unknown): SessionRef {
  checkSessionId(sessionId);
  if (owner === undefined) {
    return { id: sessionId };
  }
  checkOwnerName(user, owner);
  return { id: sessionId, owner };
}
