import { MemoryError } from "../src/base/errors.js";
import { SealedTexts } from "../src/store/sealed/sealed-texts.js";
import { opaqueSerializer, ThreadReader } from "../src/langgraph/checkpoint/thread-reader.js";
import { placeOf } from "../src/store/redis/thread-records.js";
import type { CheckpointPage, Items, StoredCheckpoint } from "../src/langgraph/checkpoint/thread-store.js";
import { sealedParts } from "../src/store/sealed/loaded-store.js";
import { reasonOf } from "./failure.js";
import type { Server } from "./server.js";
import { threadStoreOf, wireOfServer } from "./threads.js";

/** A checkpoint of a thread that could be read. */
export interface ReadCheckpoint {
  /** Empty for the root graph. */
  readonly ns: string;
  readonly id: string;
  /** Empty for none. */
  readonly parent: string;
  readonly tuple: Awaited<ReturnType<ThreadReader["tuple"]>>;
}

/** A checkpoint of which a record or an item is missing or garbage. */
export interface UnreadableCheckpoint {
  readonly ns: string;
  readonly id: string;
  readonly error: MemoryError;
}

/** A checkpoint, read or not. */
export type FoundCheckpoint = ReadCheckpoint | UnreadableCheckpoint;

/** A name for a checkpoint's place among those of all graphs of its thread. */
export function placeName({ ns, id }: { readonly ns: string; readonly id: string }): string {
  return `${ns}\0${id}`;
}

const pageLength = 100;
/** The root graph in front of its subgraphs; the empty member, which is no checkpoint, is in neither. */
const bounds = [
  ["(\u0001", "[\0"],
  ["+", "(\u0001"],
] as const;

/**
 * The checkpoints of a thread, each namespace's newest first, those that cannot be read with the reason.
 *
 * @throws StoreError `damaged` where nothing of the thread can be read.
 */
export async function* checkpointsOf(server: Server, threadId: string): AsyncGenerator<FoundCheckpoint> {
  const store = threadStoreOf(server);
  const sealedTexts = new SealedTexts(sealedParts(server.store)?.keys.ring, "thread", wireOfServer(server));
  const reader = new ThreadReader(threadId, opaqueSerializer, sealedTexts);
  for (const [upper, lower] of bounds) {
    for (let next: string | undefined = upper; next !== undefined;) {
      const page: CheckpointPage | undefined = await store.list(threadId, [next, lower], pageLength);
      const { checkpoints, items: stored } = page ?? nothing;
      const items = reader.openItems(stored);
      // Awaited with each checkpoint, if there is one.
      items.catch(() => undefined);
      for (const checkpoint of checkpoints) {
        yield await unlessUnreadable(checkpoint, reader, items);
      }
      const last = checkpoints.at(-1);
      next = last === undefined || checkpoints.length < pageLength ? undefined : `(${last.member}`;
    }
  }
}

const nothing: CheckpointPage = { checkpoints: [], items: new Map() };

/** The reason why a checkpoint cannot be read, without its name. */
export function problemOfCheckpoint({ error }: UnreadableCheckpoint): string {
  const { code } = error as { readonly code?: string };
  if (code === "damaged") {
    return "a part of it is missing in Redis";
  }
  return code === "corrupt" ? "its record is no checkpoint" : reasonOf(error);
}

/** A failure that concerns the one checkpoint is a value. */
async function unlessUnreadable(
  stored: StoredCheckpoint,
  reader: ThreadReader,
  items: Promise<Items>,
): Promise<FoundCheckpoint> {
  const place = placeOf(stored.member);
  try {
    const opened = await reader.open(stored);
    return { ...place, parent: opened.parent, tuple: await reader.tuple(opened, await items) };
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return { ...place, error };
  }
}
