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
  const results = await Promise.all(matching.slice(0, limit).map((id) => describeThread(server, id)));
  const threads = results.flatMap((thread): ThreadRow[] => (thread === undefined ? [] : [thread]));
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
    for await (const checkpoint of checkpointsOf(server, threadId)) {
      if (history.isDone) {
        break;
      }
      history.add(checkpoint);
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

  add(checkpoint: FoundCheckpoint): void {
    const name = placeName(checkpoint);
    const waiting = this.#waiting.get(name) ?? [];
    this.#waiting.delete(name);
    if (!("error" in checkpoint)) {
      waiting.forEach(({ row, child }) => (row.changes = changesOf(child, checkpoint)));
    }
    if (this.rows.length < this.#limit) {
      this.#show(checkpoint);
    }
  }

  #show(checkpoint: FoundCheckpoint): void {
    const place = { ns: readableText(checkpoint.ns), id: readableText(checkpoint.id) };
    if ("error" in checkpoint) {
      this.rows.push({ ...place, problem: problemOfCheckpoint(checkpoint), next: [], interrupts: [] });
      return;
    }
    const { step, source, at, next, interrupts } = summaryOf(checkpoint);
    const row: Mutable = {
      ...place,
      ...(step !== undefined && { step }),
      ...(source !== undefined && { source: readableText(source) }),
      ...(at !== undefined && { at }),
      next: next.map(readableText),
      interrupts: interrupts.map(shownText),
    };
    this.rows.push(row);
    if (checkpoint.parent === "") {
      row.changes = changesOf(checkpoint, undefined);
      return;
    }
    row.parent = readableText(checkpoint.parent);
    const name = placeName({ ns: checkpoint.ns, id: checkpoint.parent });
    this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), { row, child: checkpoint }]);
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
  const texts = new Set(before.map(textOf));
  const added = now.map(textOf).filter((text) => !texts.has(text));
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
