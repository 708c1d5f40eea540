import type { BaseMessage } from "@langchain/core/messages";
import { digestMessage, encodeMessage } from "../../store/codec/encode-message.js";
import { encodeHead } from "../../store/codec/head.js";
import { messageIdOf } from "../../store/codec/message-ids.js";
import { compactionIn } from "../../conversation/messages/calls.js";
import { originalOf } from "../../conversation/reducers/reduction-outcome.js";
import { refusedMarkOf } from "../../conversation/messages/roles.js";
import { splitsStep } from "../../conversation/messages/steps.js";
import { StructureError } from "../../base/errors.js";
import { countOf, countTotal } from "../../conversation/tokens/counted-messages.js";
import type { MemoryContext } from "./memory-context.js";
import type { DecodedView, StoredEntry } from "./view.js";

/** The stored form of a reduction: the new start and the new head. */
export interface CommitPlan {
  readonly start: number;
  readonly head: string;
  readonly headCount: number;
  /** Ids of the messages in the head. */
  readonly headIds: ReadonlySet<string | undefined>;
  readonly tokens: number | undefined;
  readonly counter: string | undefined;
}

/** Context for building a head. */
export type HeadContext = Pick<MemoryContext, "tokenCounter" | "forms">;

/**
 * Plans the commit of a reducer's result: the longest common suffix with the log stays in the log, and everything
 * before it goes into the head as full records. So any result can be stored, also of a reducer that clips messages or
 * returns new objects. Undefined if nothing changes.
 *
 * @throws StructureError if the result splits a step.
 */
export async function planCommit(
  view: DecodedView,
  result: readonly BaseMessage[],
  context: HeadContext,
): Promise<CommitPlan | undefined> {
  const { tokenCounter: counter } = context;
  refuseSplitSteps(
    view.entries.map(({ message }) => message),
    result,
  );
  const log = view.entries.slice(hiddenEnd(view)).filter(({ position }) => position !== undefined);
  const first = endOfLog(log, sharedEnd(log, result));
  const shared = log.length - first;
  const start = log[first]?.position ?? view.stored.next;
  const leading = result.slice(0, result.length - shared);
  const { head, forms } = await headOf(leading, view, context);
  if (start === view.stored.start && head === view.stored.head) {
    return undefined;
  }
  const tokens =
    counter === undefined ? undefined : await countTotal(counter, [...forms, ...result.slice(leading.length)]);
  const headIds = new Set(leading.map(({ id }) => id));
  return { start, head, headCount: leading.length, headIds, tokens, counter: counter?.id };
}

/** True for a view whose records hold more than its model sees: they are to leave the view with the next reduction. */
export function hidesRecords({ entries, all }: DecodedView): boolean {
  return entries !== all || entries.some(({ message }) => compactionIn(message) !== undefined);
}

/**
 * The index in a view's entries from which on its records can stay in the log: those in front of a compaction and of a
 * refused question are to leave the view, and what the model sees of them goes into the head.
 */
function hiddenEnd({ entries, all }: DecodedView): number {
  const compacted = entries.findLastIndex(({ message }) => compactionIn(message) !== undefined);
  if (entries === all) {
    return Math.max(0, compacted);
  }
  const mark = all.findLast(({ message }) => refusedMarkOf(message) !== undefined);
  const behind = entries.findIndex(({ position = -1 }) => position > (mark?.position ?? -1));
  return Math.max(compacted, behind < 0 ? entries.length : behind, 0);
}

/** Refuses a reducer's result that splits a step. @throws StructureError */
export function refuseSplitSteps(before: readonly BaseMessage[], after: readonly BaseMessage[]): void {
  // A shorter copy of a message without an id stands for it.
  if (splitsStep({ before: before.map(originalOf), after: after.map(originalOf) })) {
    const message = "the reducer's result holds a tool call without its results, or results without their call";
    throw new StructureError(`The reduction was refused: ${message}. Reduce in whole steps.`, [
      { rule: "S08", index: 0, message },
    ]);
  }
}

function sharedEnd(log: readonly StoredEntry[], result: readonly BaseMessage[]): number {
  let shared = 0;
  while (shared < log.length && shared < result.length) {
    if (!isSame(log[log.length - 1 - shared]!.message, result[result.length - 1 - shared]!)) {
      break;
    }
    shared += 1;
  }
  return shared;
}

/**
 * Index in the view's log of the longest end, of `shared` messages at most, that is an end of the log as well: where
 * answers moved to their questions, not every end of the view is one.
 */
function endOfLog(log: readonly StoredEntry[], shared: number): number {
  let first = log.length;
  let lowest = Infinity;
  const highest = [-1];
  log.forEach(({ position }) => highest.push(Math.max(highest.at(-1)!, position!)));
  for (let index = log.length - 1; index >= log.length - shared; index -= 1) {
    const position = log[index]!.position!;
    lowest = Math.min(lowest, position);
    if (position === lowest && highest[index]! < lowest) {
      first = index;
    }
  }
  return first;
}

function isSame(stored: BaseMessage, other: BaseMessage): boolean {
  return (
    stored === other ||
    (stored.id !== undefined && stored.id === other.id && digestMessage(stored) === digestMessage(other))
  );
}

async function headOf(
  leading: readonly BaseMessage[],
  view: DecodedView,
  { tokenCounter: counter, forms }: HeadContext,
): Promise<{ readonly head: string; readonly forms: readonly BaseMessage[] }> {
  const byObject = new Map(view.entries.map((entry) => [entry.message, entry]));
  const byId = new Map(view.entries.map((entry) => [entry.message.id, entry]));
  const records: string[] = [];
  const stored: BaseMessage[] = [];
  for (const [index, message] of leading.entries()) {
    const entry = byObject.get(message) ?? byId.get(message.id);
    if (entry !== undefined && isSame(entry.message, message)) {
      records.push(entry.record);
      stored.push(message);
      continue;
    }
    const [form = message] = forms === undefined ? [] : await forms.of([message]);
    const tokens = counter === undefined ? undefined : { [counter.id]: await countOf(counter, form) };
    records.push(encodeMessage(form, { id: messageIdOf(message, { index }), ...(tokens && { tokens }) }).record);
    stored.push(form);
  }
  return { head: encodeHead(records), forms: stored };
}
