import * as z from "zod/mini";
import { BaseCheckpointSaver, TASKS, WRITES_IDX_MAP, maxChannelVersion } from "@langchain/langgraph-checkpoint";
import type {
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointMetadata,
  CheckpointTuple,
  PendingWrite,
  SerializerProtocol,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { ConfigurationError } from "../../base/errors.js";
import { lazy, parseOptions, positiveInteger, withoutUndefined } from "../../base/options.js";
import { checkText, checkThreadId, configOf, isParentConfig, madeAt, ownerIn, placeIn } from "./config.js";
import type { CheckpointPlace, KnownPlace } from "./config.js";
import { KnownItems, ThreadStore, type CheckpointPage } from "./thread-store.js";
import { checkpointSegments, writesSegments, type ValueSetting } from "./encode-record.js";
import { saverSchema, openWire } from "./thread-wire.js";
import type { RedisSaverOptions, RedisSaverSettings, ThreadWire } from "./thread-wire.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import { type SaverParts, ThreadWriter } from "./thread-writer.js";
import { unknownCheckpoint, memberOf, placeOf } from "../../store/redis/thread-records.js";
import { ThreadReader } from "./thread-reader.js";
import { report } from "../../base/events.js";
import { scanNames } from "../../store/redis/scan-keys.js";
import type { ScriptRunner } from "../../store/redis/script-runner.js";

/**
 * A LangGraph checkpointer on plain Redis 6.2 or later, Valkey, or a cluster of either. It needs no Redis modules and
 * stores each message of a thread once.
 *
 * Long lists inside channel values are stored element by element, each distinct text once per thread, and checkpoints
 * reference them. So a step only stores its new data. All keys of a thread lie in the hash slot of the session with the
 * same id.
 * @example
 * import { RedisSaver } from "langchain-redis-memory/checkpoint";
 * import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
 *
 * const checkpointer = RedisSaver.fromUrl("redis://localhost:6379", { threadTTL: 604_800 });
 * const graph = new StateGraph(MessagesAnnotation)
 *   .addNode("answer", async () => ({ messages: [{ role: "ai", content: "Hello." }] }))
 *   .addEdge("__start__", "answer")
 *   .compile({ checkpointer });
 * await graph.invoke({ messages: [{ role: "human", content: "Hi." }] }, { configurable: { thread_id: "ann-1" } });
 * await checkpointer.close();
 */
export class RedisSaver extends BaseCheckpointSaver {
  readonly #wire: ThreadWire;
  readonly #parts: SaverParts;
  readonly #writer: ThreadWriter;
  readonly #ownSerde: SerializerProtocol;
  /** Milliseconds after which a thread expires. */
  readonly #threadMs: number;

  /** Opens no connection before the first call. @throws ConfigurationError naming the option. */
  constructor(options: RedisSaverOptions) {
    super();
    this.#ownSerde = this.serde;
    const checked = parseOptions("RedisSaver", saverSchema(), withoutUndefined(options));
    const { threadTTL, keep, maxItemBytes } = checked;
    this.#threadMs = threadTTL?.ms ?? Infinity;
    this.#wire = openWire("RedisSaver", options, checked);
    const { runner, keyPrefix, ring, commandTimeout, onEvent } = this.#wire;
    const sealed = new SealedTexts(ring, "thread", this.#wire);
    this.#parts = {
      store: new ThreadStore(runner, { keyPrefix, threadTTL, keep }),
      sealed,
      knownItems: new KnownItems(),
      readerOf: (threadId) => new ThreadReader(threadId, this.serde, sealed),
      onEvent,
    };
    this.#writer = new ThreadWriter({ ...this.#parts, commandTimeout, maxItemBytes });
  }

  /** Creates a saver with its own connection to the server at the URL. */
  static fromUrl(url: string, options: RedisSaverSettings = {}): RedisSaver {
    return new RedisSaver({ ...options, url });
  }

  /**
   * Returns a checkpoint, or the newest of its namespace; undefined if there is none. One round trip.
   *
   * @throws ConflictError `unknown_checkpoint` for a named one that was dropped, or whose thread has expired by
   *   `threadTTL`: LangGraph would go on from an empty state.
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.["thread_id"] === undefined) {
      return undefined;
    }
    const { threadId, ns, id = "" } = placeIn(config);
    await this.#writer.settled(threadId);
    const { store, knownItems, readerOf } = this.#parts;
    const { token, checkpoint, items: stored, isOlder } = await store.read(threadId, ns, [id]);
    const reader = readerOf(threadId);
    const items = await reader.openItems(stored);
    knownItems.noteRead(threadId, token, items);
    if (checkpoint !== undefined && checkpoint.record !== null) {
      return this.#withSends(await reader.tuple(await reader.open(checkpoint), items));
    }
    const isGone = isOlder || (token === "" && madeAt(id) + this.#threadMs <= Date.now());
    if (id !== "" && isGone && !isParentConfig(config)) {
      throw unknownCheckpoint(threadId, id);
    }
    return undefined;
  }

  /**
   * Yields the checkpoints of a thread, or of all threads, newest first. `filter` matches values of the metadata.
   * Unreadable checkpoints are reported to `onEvent` and skipped. One round trip per page of 100.
   */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit = Infinity, before, filter } = options;
    const fields = config.configurable ?? {};
    const threadId: unknown = fields["thread_id"];
    const threads = threadId === undefined ? scanThreads(this.#wire.runner, this.#wire.keyPrefix) : [threadId];
    let left = limit;
    for await (const thread of threads) {
      const { threadId: id, ns, id: checkpointId } = placeIn({ configurable: { ...fields, thread_id: thread } });
      await this.#writer.settled(id);
      const request = {
        threadId: id,
        ns: fields["checkpoint_ns"] === undefined ? undefined : ns,
        id: checkpointId,
        before: before?.configurable?.["checkpoint_id"] as string | undefined,
        filter,
      };
      for await (const tuple of listThread(request, this.#parts, () => left)) {
        left -= 1;
        yield await this.#withSends(tuple);
      }
      if (left <= 0) {
        return;
      }
    }
  }

  /** Stores a checkpoint. Idempotent. Values are copied when the call is made. */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const { threadId, ns, id: parent } = placeIn(config);
    const { id, channel_values: values, channel_versions: versions } = checkpoint;
    checkId(id);
    // A root that is no copy holds what its call changed and what has no version; any other holds what it shows.
    const isRoot = parent === undefined && metadata.source !== "fork";
    const isOld = (name: string) => Object.hasOwn(versions, name) && !Object.hasOwn(newVersions, name);
    const channels = Object.keys(values).filter((name) => !isRoot || !isOld(name));
    const serde = this.serde;
    const segments = checkpointSegments({ checkpoint, metadata, channels }, this.#setting());
    const place = { threadId, ns, id };
    await this.#writer.write({
      ...place,
      kind: "checkpoint",
      parent,
      needs: ancestorsNeeded(metadata),
      segments,
      serde,
      owner: ownerIn(config),
    });
    return configOf(place);
  }

  /** Stores a task's writes with a checkpoint. Idempotent. Values are copied when the call is made. */
  override async putWrites(
    config: RunnableConfig,
    writes: PendingWrite[],
    taskId: string,
    taskPath = "",
  ): Promise<void> {
    const { threadId, ns, id } = placeIn(config);
    checkId(id);
    const indexOf = (channel: string, place: number) => WRITES_IDX_MAP[channel] ?? place;
    const serde = this.serde;
    const segments = writesSegments({ writes, taskId, taskPath }, indexOf, this.#setting());
    await this.#writer.write({ threadId, ns, id, kind: "writes", segments, serde, owner: ownerIn(config) });
  }

  /** Removes a thread: its checkpoints, writes and items. */
  override async deleteThread(threadId: string): Promise<void> {
    checkThreadId(threadId);
    this.#parts.knownItems.forget(threadId);
    await this.#parts.store.remove(threadId);
  }

  /**
   * Drops all but the newest checkpoints of the root graph, with data that only dropped ones need. Returns the number
   * of dropped checkpoints, those of subgraphs included.
   */
  async prune(
    threadId: string,
    options: {
      /** Number of checkpoints to keep, the newest; 1 or more. */
      readonly keep: number;
    },
  ): Promise<number> {
    checkThreadId(threadId);
    const { keep } = parseOptions("prune", pruneSchema(), options);
    this.#parts.knownItems.forget(threadId);
    return this.#parts.store.prune(threadId, keep);
  }

  /** Closes the connection if this saver opened it; a memory's connection stays open. */
  async close(): Promise<void> {
    await this.#wire.close();
  }

  /** `close` for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #setting(): ValueSetting {
    return { serde: this.serde, isPlain: this.serde === this.#ownSerde };
  }

  /** Checkpoints before format version 4 keep the values sent to tasks in the writes of the parent. */
  async #withSends(tuple: CheckpointTuple): Promise<CheckpointTuple> {
    const { checkpoint, parentConfig } = tuple;
    if (checkpoint.v >= 4 || parentConfig === undefined) {
      return tuple;
    }
    const parent = await this.getTuple(parentConfig);
    const sends = (parent?.pendingWrites ?? []).filter(([, channel]) => channel === TASKS).map(([, , value]) => value);
    const versions = Object.values(checkpoint.channel_versions);
    const version = versions.length > 0 ? maxChannelVersion(...versions) : this.getNextVersion(undefined);
    const channel_values = { ...checkpoint.channel_values, [TASKS]: sends };
    const channel_versions = { ...checkpoint.channel_versions, [TASKS]: version };
    return { ...tuple, checkpoint: { ...checkpoint, channel_values, channel_versions } };
  }
}

const pruneSchema = lazy(() => z.strictObject({ keep: positiveInteger() }));

function checkId(id: CheckpointPlace["id"]): asserts id is KnownPlace["id"] {
  if (id === undefined || id === "") {
    throw new ConfigurationError("checkpoint_id", "The config names no checkpoint (checkpoint_id).");
  }
  checkText("checkpoint_id", id);
}

/** Number of ancestors with values that a checkpoint with a `DeltaChannel` needs. */
function ancestorsNeeded({ counters_since_delta_snapshot: counters = {} }: CheckpointMetadata): number {
  const steps = Object.values(counters).map(([, supersteps]) => supersteps);
  return steps.length === 0 ? 0 : Math.max(...steps) + 1;
}

const pageLength = 100;

/** Filter of a list of checkpoints. */
interface ListRequest {
  readonly threadId: string;
  /** Undefined for all namespaces, the root first. */
  readonly ns: string | undefined;
  readonly id: string | undefined;
  /** Only those in front of this id. */
  readonly before: string | undefined;
  /** Values that the metadata has. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

/** The ids of all threads on all masters, each once. */
async function* scanThreads(runner: ScriptRunner, keyPrefix: string): AsyncGenerator<string> {
  const seen = new Set<string>();
  for await (const { keys } of scanNames({ runner, keyPrefix }, "order")) {
    for (const { id } of keys.filter((key) => !seen.has(key.id))) {
      seen.add(id);
      yield id;
    }
  }
}

/**
 * Yields the checkpoints of a thread, newest first. One round trip for each page. Reports and skips unreadable ones.
 * `wanted` returns the number that the caller still takes.
 */
async function* listThread(
  request: ListRequest,
  parts: SaverParts,
  wanted: () => number,
): AsyncGenerator<CheckpointTuple> {
  for (const [upper, lower] of boundsOf(request)) {
    let next: string | undefined = upper;
    while (next !== undefined && wanted() > 0) {
      const count: number = request.filter === undefined ? Math.min(pageLength, wanted()) : pageLength;
      const page = await parts.store.list(request.threadId, [next, lower], count);
      if (page === undefined) {
        return;
      }
      for await (const tuple of tuplesOf(page, request, parts)) {
        yield tuple;
        if (wanted() <= 0) {
          return;
        }
      }
      const last = page.checkpoints.at(-1);
      next = last === undefined || page.checkpoints.length < count ? undefined : `(${last.member}`;
    }
  }
}

/** Bounds of members as Redis takes them. */
function boundsOf({ ns, id, before }: ListRequest): [upper: string, lower: string][] {
  const within = (name: string): [string, string] => {
    const [first, end] = [`[${memberOf(name, id ?? "")}`, `(${name}\u0001`];
    const upper = before === undefined ? end : `(${memberOf(name, before)}`;
    return id === undefined ? [upper, first] : [before !== undefined && !(id < before) ? "-" : first, first];
  };
  return ns === undefined ? [within(""), ["+", "(\u0001"]] : [within(ns)];
}

/** The matching checkpoints of a page. */
async function* tuplesOf({ checkpoints, items: stored }: CheckpointPage, request: ListRequest, parts: SaverParts) {
  const reader = parts.readerOf(request.threadId);
  const items = await reader.openItems(stored);
  for (const checkpoint of checkpoints.filter(({ member }) => isWithin(member, request))) {
    const tuple = await unlessUnreadable(request, parts, async () =>
      reader.tuple(await reader.open(checkpoint), items),
    );
    if (tuple !== undefined && matches(tuple.metadata ?? {}, request)) {
      yield tuple;
    }
  }
}

/** Undefined for a checkpoint that cannot be read, which is reported. */
async function unlessUnreadable<T>(
  { threadId: sessionId }: ListRequest,
  { onEvent }: SaverParts,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new Error(String(thrown));
    report(onEvent, { type: "record_skipped", sessionId, position: undefined, error });
    return undefined;
  }
}

function isWithin(member: string, { id: wanted, before }: ListRequest): boolean {
  const { id } = placeOf(member);
  return (wanted === undefined || id === wanted) && (before === undefined || id < before);
}

function matches(metadata: object, { filter = {} }: ListRequest): boolean {
  return Object.entries(filter).every(([name, value]) => (metadata as Record<string, unknown>)[name] === value);
}
