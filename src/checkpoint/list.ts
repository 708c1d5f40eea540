import type { CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { report, type MemoryEventHandler } from "../base/events.js";
import { changedThread } from "./thread-errors.js";
import type { OpenedCheckpoint, ThreadReader } from "./thread-reader.js";
import { memberOf, placeOf } from "./thread-records.js";
import { referenceKey } from "./split-value.js";
import type { Items, StoredCheckpoint, ThreadStore } from "./thread-store.js";

const pageLength = 100;
const mostTries = 5;

/** Filter of a list of checkpoints. */
export interface ListRequest {
  readonly threadId: string;
  /** Undefined for all namespaces, the root first. */
  readonly ns: string | undefined;
  /** Only this one. */
  readonly id: string | undefined;
  /** Only those in front of this id. */
  readonly before: string | undefined;
  /** Values that the metadata has. */
  readonly filter: Readonly<Record<string, unknown>> | undefined;
}

/** The parts of a list of checkpoints. */
export interface ListSetting {
  readonly store: ThreadStore;
  readonly readerOf: (threadId: string) => ThreadReader;
  readonly onEvent: MemoryEventHandler | undefined;
}

/**
 * Yields the checkpoints of a thread, newest first. For each page one round trip for the records and one for the items
 * of matching ones. Reports and skips unreadable ones. `wanted` returns the number that the caller still takes, before
 * each page.
 */
export async function* listThread(
  request: ListRequest,
  setting: ListSetting,
  wanted: () => number,
): AsyncGenerator<CheckpointTuple> {
  for (const [upper, lower] of boundsOf(request)) {
    let next: string | undefined = upper;
    for (let tries = 0; next !== undefined && wanted() > 0;) {
      const count: number = request.filter === undefined ? Math.min(pageLength, wanted()) : pageLength;
      const page = await setting.store.list(request.threadId, [next, lower], count);
      const chosen = page && (await choose(page.checkpoints, request, setting));
      const read = page && chosen && (await readItems(page.token, chosen, request, setting, wanted()));
      if (page !== undefined && read === undefined) {
        tries += 1;
        if (tries === mostTries) {
          throw changedThread(request.threadId);
        }
        continue;
      }
      yield* read ?? [];
      const last = page?.checkpoints.at(-1);
      next = last === undefined || page!.checkpoints.length < count ? undefined : `(${last.member}`;
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

/** The checkpoints of a page that may match, judged by their records. */
async function choose(
  page: readonly StoredCheckpoint[],
  { threadId, id, before, filter }: ListRequest,
  setting: ListSetting,
): Promise<OpenedCheckpoint[]> {
  const reader = setting.readerOf(threadId);
  const chosen: OpenedCheckpoint[] = [];
  for (const stored of page) {
    const place = placeOf(stored.member);
    if ((id !== undefined && place.id !== id) || (before !== undefined && !(place.id < before))) {
      continue;
    }
    try {
      const opened = await reader.open(stored);
      if (filter === undefined || needsItems(opened) || matches(await reader.metadata(opened, new Map()), filter)) {
        chosen.push(opened);
      }
    } catch (error) {
      skip(threadId, error, setting);
    }
  }
  return chosen;
}

/** The tuples of the chosen checkpoints; undefined if items were dropped meanwhile. */
async function readItems(
  token: string,
  chosen: readonly OpenedCheckpoint[],
  { threadId, filter }: ListRequest,
  setting: ListSetting,
  wanted: number,
): Promise<CheckpointTuple[] | undefined> {
  const reader = setting.readerOf(threadId);
  const tuples: CheckpointTuple[] = [];
  for (let from = 0; from < chosen.length && tuples.length < wanted;) {
    const some = chosen.slice(from, from + wanted - tuples.length);
    from += some.length;
    const stored = await setting.store.items(
      threadId,
      token,
      some.flatMap(({ records }) => records),
      "list",
    );
    if (stored === undefined) {
      return undefined;
    }
    const items = await reader.openItems(stored);
    for (const opened of some) {
      const tuple = await tupleOf(reader, opened, items, (error) => skip(threadId, error, setting));
      if (tuple !== undefined && (filter === undefined || matches(tuple.metadata ?? {}, filter))) {
        tuples.push(tuple);
      }
    }
  }
  return tuples;
}

async function tupleOf(
  reader: ThreadReader,
  opened: OpenedCheckpoint,
  items: Items,
  onFailure: (error: unknown) => void,
) {
  try {
    return await reader.tuple(opened, items);
  } catch (error) {
    onFailure(error);
    return undefined;
  }
}

function skip(sessionId: string, error: unknown, { onEvent }: ListSetting): void {
  const failure = error instanceof Error ? error : new Error(String(error));
  report(onEvent, { type: "record_skipped", sessionId, position: undefined, error: failure });
}

function needsItems({ json }: OpenedCheckpoint): boolean {
  return JSON.stringify(json.m).includes(`"${referenceKey}"`);
}

function matches(metadata: object, filter: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(filter).every(([name, value]) => (metadata as Record<string, unknown>)[name] === value);
}
