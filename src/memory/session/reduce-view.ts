import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseMessage } from "@langchain/core/messages";
import { maxTries } from "../../base/bounds.js";
import { copyMessage, lastIdOf, encodeHead } from "../../store/codec/stored-record.js";
import { ConfigurationError, ConflictError, StructureError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { type ReductionOutcome, originalOf } from "../../conversation/reducers/chat-history-reducer.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import { tracedReduction, type TracePlace } from "./reduction-trace.js";
import type { SessionOfMemory, MemoryContext } from "./memory-context.js";
import { decodeView, type DecodedView, type StoredEntry } from "./view.js";
import { digestMessage, encodeMessage, messageIdOf } from "../../store/codec/encode-message.js";
import { compactionIn } from "../../conversation/messages/content.js";
import { refusedMarkOf } from "../../conversation/messages/message.js";
import { splitsStep } from "../../conversation/messages/steps.js";
import { countOf, countTotal } from "../../conversation/tokens/counted-messages.js";

/**
 * Reduces the view and commits the result by compare-and-set; reads and reduces again if another process changed it.
 *
 * @throws ConfigurationError without a reducer; ConflictError `stale` after three lost races, or while another process
 * reduces the session under a lease; errors of the reducer.
 */
export async function reduceAndCommit(
  target: SessionOfMemory,
  config: RunnableConfig | undefined,
): Promise<ReductionOutcome> {
  const { sessionId, context } = target;
  if (context.reducer === undefined) {
    throw new ConfigurationError("reducer", 'reduceView() needs the option "reducer".');
  }
  const result = await underLease(target, async () => {
    for (let attempt = 1; attempt <= maxTries.edit; attempt += 1) {
      const outcome = await reduceOnce(target, await context.store.readView(target.ref), config);
      if (outcome !== "stale") {
        return outcome;
      }
    }
    return "stale";
  });
  if (result === "taken") {
    const message = "Another process is reducing this session; try again later.";
    throw new ConflictError(message, { code: "stale", sessionId });
  }
  if (result === "stale") {
    const message = `Other processes reduced or rewound this session during each of ${maxTries.edit} tries; try again.`;
    throw new ConflictError(message, { code: "stale", sessionId });
  }
  return result;
}

/**
 * Reduces a view returned by a write. Never throws: a failure goes to `onEvent`, and the next write tries again. Does
 * nothing while another process reduces the session under a lease. `trace` is its parent in traces.
 */
export async function reduceAfterWrite(
  target: SessionOfMemory,
  view: SessionView,
  trace: TracePlace | undefined,
): Promise<void> {
  const { sessionId, context } = target;
  try {
    // Under a lease the view is read again: the last holder may have reduced it since.
    const read = async () => (context.reducer!.requiresLease ? context.store.readView(target.ref) : view);
    if ((await underLease(target, async () => reduceOnce(target, await read(), trace))) === "stale") {
      report(context.onEvent, { type: "reduction_stale", sessionId });
    }
  } catch (error) {
    report(context.onEvent, { type: "reduction_failed", sessionId, error });
  }
}

/**
 * Runs a reduction. If it costs money, only the process with the session's lease runs it.
 */
async function underLease<T>({ ref, context }: SessionOfMemory, reduce: () => Promise<T>): Promise<T | "taken"> {
  const { store, reducer } = context;
  if (!reducer!.requiresLease) {
    return reduce();
  }
  const lease = await store.data.acquireLease(ref, reducer!.leaseMs);
  if (lease === undefined) {
    return "taken";
  }
  try {
    return await reduce();
  } finally {
    await store.data.releaseLease(ref, lease);
  }
}

async function reduceOnce(
  target: SessionOfMemory,
  stored: SessionView,
  config: RunnableConfig | undefined,
): Promise<ReductionOutcome | "stale"> {
  const { sessionId, context } = target;
  const view = decodeView(stored, { ...context, sessionId });
  const noteCounts = context.recounts?.apply(sessionId, view);
  const messages = view.entries.map(({ message }) => message);
  const outcome = await tracedReduction(context.reducer!, messages, config);
  await noteCounts?.();
  const moves = outcome.changed || hidesRecords(view);
  const committed = moves ? await commitOutcome(target, view, outcome) : undefined;
  if (committed === undefined && outcome.error !== undefined) {
    report(context.onEvent, { type: "reduction_failed", sessionId, error: outcome.error });
  }
  return committed === "stale" ? "stale" : outcome;
}

/** Commits and reports a reducer's result for a decoded view; `stale` if others changed the session since. */
export async function commitOutcome(
  target: SessionOfMemory,
  view: DecodedView,
  outcome: Pick<ReductionOutcome, "messages" | "before" | "after" | "overBudgetBy">,
): Promise<"committed" | "stale" | undefined> {
  const { sessionId, context } = target;
  const plan = await planCommit(view, outcome.messages, context);
  if (plan === undefined) {
    return undefined;
  }
  const result = await commit(target, view, plan);
  if (result === "committed") {
    const { before, after, overBudgetBy } = outcome;
    const left = () =>
      view.entries.flatMap(({ message, position = -1 }) =>
        position < plan.start && !plan.headIds.has(message.id) ? [copyMessage(message)] : [],
      );
    report(context.onEvent, { type: "reduced", sessionId, before, after, overBudgetBy, left });
  }
  return result;
}

async function commit(target: SessionOfMemory, view: DecodedView, plan: CommitPlan): Promise<"committed" | "stale"> {
  const { context } = target;
  const { epoch, rev, next, tokens: tokensRead } = view.stored;
  const { start, head, headCount, tokens, counter } = plan;
  const { viewLimit, tokenCounter } = context.reducer ?? {};
  const maxTokens = (viewLimit?.tokens ?? NaN) + (tokenCounter?.perRequest ?? 0);
  return context.store.commitReduction(target.reductionRef, {
    ...{ epoch, rev, next, start, head, headCount, ...lastIdOf(view.stored.records) },
    ...(tokens !== undefined && counter !== undefined && { tokens, counter }),
    ...(tokensRead !== undefined && view.stored.counter === counter && { tokensRead }),
    ...(Number.isFinite(maxTokens) && { maxTokens }),
    ...(context.discard && { discard: true }),
  });
}

/** The stored form of a reduction: the new start and the new head. */
interface CommitPlan {
  readonly start: number;
  readonly head: string;
  readonly headCount: number;
  /** Ids of the messages in the head. */
  readonly headIds: ReadonlySet<string | undefined>;
  readonly tokens: number | undefined;
  readonly counter: string | undefined;
}

/** Context for building a head. */
type HeadContext = Pick<MemoryContext, "tokenCounter" | "forms">;

/**
 * Plans the commit of a reducer's result: the longest common suffix with the log stays in the log, and everything
 * before it goes into the head as full records. So any result can be stored, also of a reducer that clips messages or
 * returns new objects. Undefined if nothing changes.
 *
 * @throws StructureError if the result splits a step.
 */
async function planCommit(
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
function hidesRecords({ entries, all }: DecodedView): boolean {
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
