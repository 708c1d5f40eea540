import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { report } from "../../base/events.js";
import type { SaverParts } from "./saver-parts.js";
import type { OpenedCheckpoint } from "./thread-reader.js";
import { memberOf, placeOf } from "../../store/redis/thread-records.js";
import { referenceKey } from "./split-value.js";
import type { CheckpointPage } from "./thread-store.js";

const pageLength = 100;

/** Filter of a list of checkpoints. */
export interface ListRequest {
  readonly threadId: string;
  /** Undefined for all namespaces, the root first. */
  readonly ns: string | undefined;
  readonly id: string | undefined;
  /** Only those in front of this id. */
  readonly before: string | undefined;
  /** Values that the metadata has. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

/**
 * Yields the checkpoints of a thread, newest first. One round trip for each page; with a filter a further one for those
 * that match. Reports and skips unreadable ones. `wanted` returns the number that the caller still takes.
 */
export async function* listThread(
  request: ListRequest,
  parts: SaverParts,
  wanted: () => number,
): AsyncGenerator<CheckpointTuple> {
  const withItems = request.filter === undefined;
  for (const [upper, lower] of boundsOf(request)) {
    let next: string | undefined = upper;
    while (next !== undefined && wanted() > 0) {
      const count: number = withItems ? Math.min(pageLength, wanted()) : pageLength;
      const page = await parts.store.list(request.threadId, [next, lower], count, { withItems });
      if (page === undefined) {
        return;
      }
      yield* withItems ? tuplesOf(page, request, parts) : matching(page, request, parts, wanted);
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

/** The matching checkpoints of a page without items: those that may match are read again, at one moment with items. */
async function* matching(page: CheckpointPage, request: ListRequest, parts: SaverParts, wanted: () => number) {
  const reader = parts.readerOf(request.threadId);
  const chosen: string[] = [];
  for (const stored of page.checkpoints.filter(({ member }) => isWithin(member, request))) {
    const mayMatch = await unlessUnreadable(request, parts, async () => {
      const opened = await reader.open(stored);
      return needsItems(opened) || matches(await reader.metadata(opened, new Map()), request);
    });
    if (mayMatch) {
      chosen.push(stored.member);
    }
  }
  for (let from = 0; from < chosen.length && wanted() > 0;) {
    const some = chosen.slice(from, from + wanted());
    from += some.length;
    const read = await parts.store.readAll(request.threadId, some, "list");
    if (read !== undefined) {
      yield* tuplesOf(read, request, parts);
    }
  }
}

/** The matching checkpoints of a page with items. */
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

function needsItems({ json }: OpenedCheckpoint): boolean {
  return JSON.stringify(json.m).includes(`"${referenceKey}"`);
}

function matches(metadata: object, { filter = {} }: ListRequest): boolean {
  return Object.entries(filter).every(([name, value]) => (metadata as Record<string, unknown>)[name] === value);
}
