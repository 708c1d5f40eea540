import { redisRuns, type Run, type RunItem, type RedisRunsOptions } from "langchain-redis-memory/runs";
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
