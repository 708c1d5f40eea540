import type { Run, RunItem } from "langchain-redis-memory/runs";

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
