import { setTimeout as delay } from "node:timers/promises";
import { MemoryError } from "langchain-redis-memory";
import { redisRuns, type RedisRuns, type RedisRunsOptions, type Run, type RunItem } from "langchain-redis-memory/runs";
import type { RedisChatMemory } from "../../src/memory/histories/redis-chat-memory.js";
import type { MemorySettings } from "../../src/memory/session/memory-context.js";
import { newMemory } from "../support/memories.js";
import { uniquePrefix } from "../support/shared-redis.js";

/** Nobody is taken for dead, however slow the machine. */
export const calm: RedisRunsOptions = { lostAfterMs: 600_000, batchMs: 1 };

/** Two instances of an application. */
export function twoInstances({ redis, ...options }: MemorySettings = {}, settings: RedisRunsOptions = calm) {
  const keyPrefix = uniquePrefix();
  const memories = [0, 1].map(() => newMemory({ ...options, redis: { ...redis, keyPrefix } }));
  const [own, other] = memories as [RedisChatMemory, RedisChatMemory];
  const runs = [redisRuns(own, settings), redisRuns(other, settings)] as const;
  return { memories: [own, other] as const, runs, keyPrefix };
}

/** The work of a run whose chunks a test says one by one. */
export function spoken() {
  const said: unknown[] = [];
  let wake = () => {};
  let isOver = false;
  let failure: unknown;
  const next = () => new Promise<void>((resolve) => (wake = resolve));
  async function* chunks(signal: AbortSignal) {
    signal.addEventListener("abort", () => wake());
    while (!signal.aborted) {
      if (said.length > 0) {
        yield said.shift();
      } else if (failure !== undefined) {
        throw failure;
      } else if (isOver) {
        return;
      } else {
        await next();
      }
    }
    throw signal.reason;
  }
  return {
    work: (signal: AbortSignal) => chunks(signal),
    say: (...words: unknown[]) => (said.push(...words), wake()),
    end: () => ((isOver = true), wake()),
    fail: (error: unknown) => ((failure = error), wake()),
  };
}

/** All items of a run. */
export async function all(run: Run): Promise<RunItem[]> {
  const items: RunItem[] = [];
  for await (const item of run) {
    items.push(item);
  }
  return items;
}

/** The first items of a run, which is left there. */
export async function first(run: Run, count: number): Promise<RunItem[]> {
  const items: RunItem[] = [];
  for await (const item of run) {
    items.push(item);
    if (items.length === count) {
      break;
    }
  }
  return items;
}

export const chunksOf = (items: readonly RunItem[]): unknown[] =>
  items.flatMap((item) => ("chunk" in item ? [item.chunk] : []));

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
