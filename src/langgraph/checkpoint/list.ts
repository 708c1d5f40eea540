import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { report } from "../../base/events.js";
import { scanNames } from "../../store/redis/scan-keys.js";
import type { ScriptRunner } from "../../store/redis/script-runner.js";
import type { SaverParts } from "./saver-parts.js";
import { memberOf, placeOf } from "../../store/redis/thread-records.js";
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

/** The ids of all threads on all masters, each once. */
export async function* scanThreads(runner: ScriptRunner, keyPrefix: string): AsyncGenerator<string> {
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
export async function* listThread(
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
