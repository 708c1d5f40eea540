import type { CheckpointPendingWrite } from "@langchain/langgraph-checkpoint";
import { maxTries } from "../../base/tries.js";
import type { KnownPlace } from "./config.js";
import type { SaverParts } from "./saver-parts.js";
import { changedThread, corruptCheckpoint } from "../../store/redis/thread-errors.js";
import type { OpenedCheckpoint, ThreadReader } from "./thread-reader.js";
import { placeOf } from "../../store/redis/thread-records.js";
import type { Items, StoredCheckpoint } from "./thread-store.js";

const pageLength = 128;

/**
 * The writes of one channel along the ancestors of a checkpoint.
 * @example
 * import { RedisSaver, type ChannelHistory } from "langchain-redis-memory/checkpoint";
 *
 * const checkpointer = RedisSaver.fromUrl("redis://localhost:6379");
 * const config = { configurable: { thread_id: "ann-1" } };
 * const histories = await checkpointer.getDeltaChannelHistory({ config, channels: ["messages"] });
 * const history: ChannelHistory | undefined = histories["messages"];
 * console.log(history?.writes.length);
 */
export interface ChannelHistory {
  /** The writes of tasks, oldest first. */
  writes: CheckpointPendingWrite[];
  /** The value in the nearest ancestor that has one. */
  seed?: unknown;
}

/** The start of the walk; with an empty id, the newest checkpoint. */
export interface HistoryRequest extends KnownPlace {
  readonly channels: readonly string[];
}

/**
 * Reads the writes of channels along the ancestors of a checkpoint, up to the nearest one with their value. Two round
 * trips per 128 ancestors.
 */
export async function channelHistories(
  request: HistoryRequest,
  { store, readerOf }: SaverParts,
): Promise<Record<string, ChannelHistory>> {
  const reader = readerOf(request.threadId);
  const found = new Map(request.channels.map((channel): [string, ChannelHistory] => [channel, { writes: [] }]));
  const open = new Set(request.channels);
  const walked = new Set<string>();
  let id: string | undefined = request.id;
  for (let tries = 0; id !== undefined && open.size > 0;) {
    const page = await store.ancestors(request.threadId, request.ns, id, pageLength);
    const ancestors = page?.checkpoints ?? [];
    const needed = await membersUntilKnown(ancestors, open, reader);
    const read = await store.readAll(request.threadId, needed, "getDeltaChannelHistory");
    if ((read?.checkpoints.length ?? 0) < needed.length) {
      tries += 1;
      if (tries === maxTries.write) {
        throw changedThread(request.threadId);
      }
      continue;
    }
    const items = await reader.openItems(read?.items ?? new Map());
    for (const stored of read?.checkpoints ?? []) {
      if (walked.has(stored.member)) {
        // Only a damaged record is its own ancestor.
        throw corruptCheckpoint(request.threadId, placeOf(stored.member).id);
      }
      walked.add(stored.member);
      await collect(await reader.open(stored), { found, open, items, reader });
    }
    const isRoot = needed.length === ancestors.length && ancestors.length < pageLength;
    id = isRoot ? undefined : placeOf(needed.at(-1)!).id;
  }
  for (const { writes } of found.values()) {
    writes.reverse();
  }
  return Object.fromEntries(found);
}

/** The members of the ancestors up to the one with which every channel has a value. */
async function membersUntilKnown(
  ancestors: readonly StoredCheckpoint[],
  open: ReadonlySet<string>,
  reader: ThreadReader,
): Promise<string[]> {
  const left = new Set(open);
  const members: string[] = [];
  for (const stored of ancestors) {
    if (left.size > 0) {
      const { json } = await reader.open(stored);
      members.push(stored.member);
      [...left].filter((channel) => Object.hasOwn(json.d, channel)).forEach((channel) => left.delete(channel));
    }
  }
  return members;
}

interface Walk {
  readonly reader: ThreadReader;
  readonly found: ReadonlyMap<string, ChannelHistory>;
  readonly open: Set<string>;
  readonly items: Items;
}

async function collect(ancestor: OpenedCheckpoint, { found, open, items, reader }: Walk): Promise<void> {
  const writes = await reader.pendingWrites(ancestor, items, open);
  for (const write of writes.reverse()) {
    found.get(write[1])!.writes.push(write);
  }
  for (const channel of [...open].filter((name) => Object.hasOwn(ancestor.json.d, name))) {
    const value = await reader.value(ancestor.json.d[channel], ancestor, items);
    if (value !== undefined) {
      found.get(channel)!.seed = value;
      open.delete(channel);
    }
  }
}
