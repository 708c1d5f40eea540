import {
  BaseCheckpointSaver,
  MemorySaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type DeltaChannelHistory,
  type PendingWrite,
} from "@langchain/langgraph-checkpoint";
import type { RunnableConfig } from "@langchain/core/runnables";
import { all } from "../support/all.js";

/** Gives every call to a saver and to a MemorySaver, and checks that both read the same. */
export class ComparedSaver extends BaseCheckpointSaver {
  /** Reads that were compared. */
  reads = 0;
  /** Namespaces that were put. */
  readonly namespaces = new Set<string>();
  /** Reads of the writes of delta channels. */
  histories = 0;
  /** A graph's run that fails may hide what failed here. */
  #problem: unknown;

  constructor(
    readonly saver: BaseCheckpointSaver,
    readonly memory = new MemorySaver(),
  ) {
    super();
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    const [own, expected] = await this.#both(this.saver.getTuple(config), this.memory.getTuple(config));
    this.#compare(own, bare(expected));
    return own;
  }

  override async *list(config: RunnableConfig, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple> {
    const [own, expected] = await this.#both(
      all(this.saver.list(config, options)),
      all(this.memory.list(config, options)),
    );
    this.#compare(own, expected.map(bare));
    yield* own;
  }

  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    versions: ChannelVersions,
  ): Promise<RunnableConfig> {
    this.namespaces.add(String(config.configurable!["checkpoint_ns"] ?? ""));
    const [own] = await this.#both(
      this.saver.put(config, checkpoint, metadata, versions),
      this.memory.put(config, checkpoint, metadata),
    );
    return own;
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string, taskPath?: string) {
    await this.#both(
      this.saver.putWrites(config, writes, taskId, taskPath),
      this.memory.putWrites(config, writes, taskId, taskPath),
    );
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#both(this.saver.deleteThread(threadId), this.memory.deleteThread(threadId));
  }

  override async getDeltaChannelHistory(options: {
    config: RunnableConfig;
    channels: string[];
  }): Promise<Record<string, DeltaChannelHistory>> {
    this.histories += 1;
    const [own, expected] = await this.#both(
      this.saver.getDeltaChannelHistory(options),
      this.memory.getDeltaChannelHistory(options),
    );
    this.#compare(own, expected);
    return own;
  }

  /**
   * Compares all that a thread holds: every namespace, and each checkpoint by its id. Throws the first problem of all
   * calls so far.
   */
  async compareAll(threadId: string): Promise<number> {
    const config = { configurable: { thread_id: threadId } };
    const byPlace = (tuples: readonly CheckpointTuple[]) =>
      [...tuples].sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
    const own = byPlace(await all(this.saver.list(config)));
    this.#compare(own, byPlace(await all(this.memory.list(config))));
    for (const tuple of own) {
      await this.getTuple(tuple.config);
    }
    if (this.#problem !== undefined) {
      throw this.#problem;
    }
    return own.length;
  }

  async #both<Own, Expected>(own: Promise<Own>, expected: Promise<Expected>): Promise<[Own, Expected]> {
    try {
      return await Promise.all([own, expected]);
    } catch (error) {
      this.#problem ??= error;
      throw error;
    }
  }

  #compare(own: unknown, expected: unknown): void {
    this.reads += 1;
    try {
      expect(own).toStrictEqual(expected);
    } catch (error) {
      this.#problem ??= error;
      throw error;
    }
  }
}

function placeOf({ config }: CheckpointTuple): string {
  return `${config.configurable!["checkpoint_ns"]} ${config.configurable!["checkpoint_id"]}`;
}

/** MemorySaver returns the config that it was given, with all that stands in it. */
function bare<T extends CheckpointTuple | undefined>(tuple: T): T {
  const { thread_id, checkpoint_ns = "", checkpoint_id } = tuple?.config.configurable ?? {};
  return tuple && { ...tuple, config: { configurable: { thread_id, checkpoint_ns, checkpoint_id } } };
}
