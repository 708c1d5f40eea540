import { setTimeout as delay } from "node:timers/promises";
import { MemoryError } from "langchain-redis-memory";
import type { RedisRuns, RunItem } from "langchain-redis-memory/runs";

/** A part of a run that a reader gets: on which instance, how many items before it leaves, and how slowly. */
export interface Visit {
  readonly instance: number;
  readonly items: number;
  readonly pauseMs: number;
}

/** Visits one after the other, each behind the last item of the one before; the last stays to the end. */
export async function readAll(
  runs: readonly RedisRuns[],
  session: string,
  visits: readonly Visit[],
): Promise<RunItem[]> {
  const got: RunItem[] = [];
  for (const { instance, ...each } of [...visits, { instance: 0, items: Infinity, pauseMs: 0 }]) {
    if (!got.some((item) => "state" in item)) {
      await visit(runs[instance]!, { session, got, ...each });
    }
  }
  return got;
}

async function visit(
  runs: RedisRuns,
  { session, got, items, pauseMs }: Omit<Visit, "instance"> & { session: string; got: RunItem[] },
): Promise<void> {
  const end = got.length + items;
  while (got.length < end) {
    const after = got.findLast((item): item is RunItem & { id: string } => "id" in item)?.id;
    try {
      for await (const item of runs.join(session, { after: after ?? null })) {
        got.push(item);
        await (pauseMs > 0 ? delay(pauseMs) : undefined);
        if (got.length === end) {
          break;
        }
      }
      return;
    } catch (error) {
      // A page's EventSource connects again.
      if (!MemoryError.isInstance(error) || !error.retryable) {
        throw error;
      }
    }
  }
}
