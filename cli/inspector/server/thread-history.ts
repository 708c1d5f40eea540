import { changedChannels, summaryOf } from "../../checkpoint-summary.js";
import type { Server } from "../../server.js";
import {
  checkpointsOf,
  placeName,
  problemOfCheckpoint,
  type FoundCheckpoint,
  type ReadCheckpoint,
} from "../../thread-checkpoints.js";
import { damageIn, describeThread, threadIds } from "../../threads.js";
import type { ChannelChange, CheckpointRow, ShownText, ThreadRow, ThreadRows, ThreadState } from "../model/threads.js";
import { cutText, readableText } from "./readable-text.js";
import { NotFoundError } from "./request-problem.js";

/** Threads that are looked through. */
const mostThreads = 20_000;
/** Characters of a value, and values of a list, that a change shows. */
const mostText = 400;
const mostAdded = 20;

/** Threads whose id holds the text, by id. */
export async function findThreads(server: Server, search: string, limit: number): Promise<ThreadRows> {
  const ended = new AbortController();
  const ids: string[] = [];
  for await (const page of threadIds(server, ended.signal)) {
    ids.push(...page);
    if (ids.length >= mostThreads) {
      ended.abort();
    }
  }
  const text = search.trim().toLowerCase();
  const matching = ids.filter((id) => id.toLowerCase().includes(text)).sort();
  const found = await Promise.all(matching.slice(0, limit).map((id) => describeThread(server, id)));
  const threads = found.flatMap((thread): ThreadRow[] => (thread === undefined ? [] : [thread]));
  return { threads, matching: matching.length };
}

/** The newest checkpoints of a thread, each with what differs from its parent. */
export async function readThreadState(server: Server, threadId: string, limit: number): Promise<ThreadState> {
  const described = await describeThread(server, threadId);
  if (described === undefined) {
    throw new NotFoundError("There is no thread with this id.");
  }
  const { checkpoints, items, expiresAt } = described;
  const figures = { threadId, checkpoints, items, ...(expiresAt !== undefined && { expiresAt }) };
  const history = new History(limit);
  try {
    for await (const found of checkpointsOf(server, threadId)) {
      if (history.isDone) {
        break;
      }
      history.add(found);
    }
  } catch (error) {
    const damage = damageIn(error);
    if (damage === undefined) {
      throw error;
    }
    return { ...figures, shown: [], damage };
  }
  return { ...figures, shown: history.rows };
}

type Mutable = { -readonly [Name in keyof CheckpointRow]: CheckpointRow[Name] };

/** Rows of checkpoints, the newest first; each waits for its parent, which is read later. */
class History {
  readonly rows: Mutable[] = [];
  readonly #limit: number;
  readonly #waiting = new Map<string, { readonly row: Mutable; readonly child: ReadCheckpoint }[]>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isDone(): boolean {
    return this.rows.length >= this.#limit && this.#waiting.size === 0;
  }

  add(found: FoundCheckpoint): void {
    const name = placeName(found);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    if (!("error" in found)) {
      waiting.forEach(({ row, child }) => (row.changes = changesOf(child, found)));
    }
    if (this.rows.length < this.#limit) {
      this.#show(found);
    }
  }

  #show(found: FoundCheckpoint): void {
    const place = { ns: readableText(found.ns), id: readableText(found.id) };
    if ("error" in found) {
      this.rows.push({ ...place, problem: problemOfCheckpoint(found), next: [], interrupts: [] });
      return;
    }
    const { step, source, at, next, interrupts } = summaryOf(found);
    const row: Mutable = {
      ...place,
      ...(step !== undefined && { step }),
      ...(source !== undefined && { source: readableText(source) }),
      ...(at !== undefined && { at }),
      next: next.map(readableText),
      interrupts: interrupts.map(shownText),
    };
    this.rows.push(row);
    if (found.parent === "") {
      row.changes = changesOf(found, undefined);
      return;
    }
    row.parent = readableText(found.parent);
    const name = placeName({ ns: found.ns, id: found.parent });
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), { row, child: found }]);
  }
}

function changesOf(child: ReadCheckpoint, parent: ReadCheckpoint | undefined): ChannelChange[] {
  const before = parent?.tuple.checkpoint.channel_values ?? {};
  const now = child.tuple.checkpoint.channel_values;
  return changedChannels(summaryOf(child), parent && summaryOf(parent)).map((name) => {
    const channel = readableText(name);
    const [value, old] = [now[name], before[name]];
    return Array.isArray(value)
      ? { channel, ...listChange(value, Array.isArray(old) ? old : []) }
      : { channel, value: value === undefined ? undefined : shownText(value) };
  });
}

/** The elements that the list did not hold before, by what they say. */
function listChange(now: readonly unknown[], before: readonly unknown[]) {
  const known = new Set(before.map(textOf));
  const added = now.map(textOf).filter((text) => !known.has(text));
  const shown = added.slice(-mostAdded).map((text) => cutText(text, { limit: mostText }));
  return { list: { before: before.length, now: now.length, added: added.length, shown } };
}

function shownText(value: unknown): ShownText {
  return cutText(textOf(value), { limit: mostText });
}

/** A message's fields, or the value, as JSON. */
function textOf(value: unknown): string {
  const fields = (value as { readonly lc_kwargs?: unknown } | null)?.lc_kwargs ?? value;
  return JSON.stringify(fields) ?? String(value);
}
