import { maxTries } from "../../base/tries.js";
import type { RunnableConfig } from "@langchain/core/runnables";
import { copyMessage } from "../../store/codec/copy-message.js";
import { lastIdOf } from "../../store/codec/message-ids.js";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import type { ReductionOutcome } from "../../conversation/reducers/reduction-outcome.js";
import type { SessionView } from "../../store/contract/session-reads.js";
import { hidesRecords, planCommit, type CommitPlan } from "./plan-commit.js";
import { tracedReduction, type TracePlace } from "./reduction-trace.js";
import type { SessionOfMemory } from "./memory-context.js";
import { decodeView, type DecodedView } from "./view.js";

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
