import { MemoryError } from "../src/base/errors.js";
import { SealedTexts } from "../src/checkpoint/sealed-texts.js";
import { changedThread } from "../src/checkpoint/thread-errors.js";
import { ThreadReader, type OpenedCheckpoint } from "../src/checkpoint/thread-reader.js";
import { placeOf } from "../src/checkpoint/thread-records.js";
import type { StoredCheckpoint, ThreadStore } from "../src/checkpoint/thread-store.js";
import { sealedParts } from "../src/sealed/loaded-store.js";
import { reasonOf } from "./failure.js";
import type { Server } from "./server.js";
import { threadStoreOf } from "./threads.js";

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

const pageLength = 100;
const mostTries = 5;
/** The root graph in front of its subgraphs; the empty member, which is no checkpoint, is in neither. */
const bounds = [
  ["(\u0001", "[\0"],
  ["+", "(\u0001"],
] as const;

/**
 * The checkpoints of a thread, each namespace's newest first, those that cannot be read with the reason.
 *
 * @throws StoreError `damaged` where nothing of the thread can be read; ConflictError where others keep changing it.
 */
export async function* checkpointsOf(server: Server, threadId: string): AsyncGenerator<FoundCheckpoint> {
  const store = threadStoreOf(server);
  const reader = new ThreadReader(threadId, opaque, new SealedTexts(sealedParts(server.store)?.ring));
  for (const [upper, lower] of bounds) {
    for (let next: string | undefined = upper; next !== undefined;) {
      const page: readonly StoredCheckpoint[] = yield* pageOf({ store, reader, threadId }, [next, lower]);
      const last = page.at(-1);
      next = last === undefined || page.length < pageLength ? undefined : `(${last.member}`;
    }
  }
}

/** The reason why a checkpoint cannot be read, without its name. */
export function problemOfCheckpoint({ error }: UnreadableCheckpoint): string {
  const { code } = error as { readonly code?: string };
  if (code === "damaged") {
    return "a part of it is missing in Redis";
  }
  return code === "corrupt" ? "its record is no checkpoint" : reasonOf(error);
}

/** Values of the serializer's own types are not looked at: to read them would take LangGraph's package. */
const opaque: ConstructorParameters<typeof ThreadReader>[1] = {
  dumpsTyped: () => Promise.reject(new Error("Commands write no checkpoints.")),
  loadsTyped: async (type, data) => (type === "json" && typeof data === "string" ? (JSON.parse(data) as object) : {}),
};

interface Source {
  readonly store: ThreadStore;
  readonly reader: ThreadReader;
  readonly threadId: string;
}

async function* pageOf({ store, reader, threadId }: Source, limits: readonly [string, string]) {
  for (let tries = 0; tries < mostTries; tries += 1) {
    const page = await store.list(threadId, limits, pageLength);
    if (page === undefined) {
      return [];
    }
    const opened = await Promise.all(page.checkpoints.map((stored) => unlessUnreadable(stored, reader.open(stored))));
    const records = opened.flatMap((found) => ("error" in found ? [] : found.records));
    const stored = await store.items(threadId, page.token, records, "list");
    if (stored === undefined) {
      continue;
    }
    const items = reader.openItems(stored);
    // Awaited with each checkpoint, if there is one.
    items.catch(() => undefined);
    for (const found of opened) {
      yield "error" in found ? found : await unlessUnreadable(found, readWhole(reader, found, items));
    }
    return page.checkpoints;
  }
  throw changedThread(threadId);
}

async function readWhole(
  reader: ThreadReader,
  opened: OpenedCheckpoint,
  items: Promise<ReadonlyMap<number, string>>,
): Promise<ReadCheckpoint> {
  const tuple = await reader.tuple(opened, await items);
  return { ...placeOf(opened.member), parent: opened.parent, tuple };
}

/** A failure that concerns the one checkpoint is a value. */
async function unlessUnreadable<T>({ member }: { readonly member: string }, read: Promise<T>) {
  try {
    return await read;
  } catch (error) {
    if (!MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    return { ...placeOf(member), error };
  }
}
