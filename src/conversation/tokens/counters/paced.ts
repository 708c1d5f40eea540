import { setImmediate } from "node:timers";

const millisecondsPerTurn = 10;

let spent = 0;
let queue: Promise<void> = Promise.resolve();

/**
 * Runs steps to their end and gives their result: at once while this turn of the event loop has room for them, else as
 * a promise. Others (timers, sockets) get their turn after each 10 ms of this work, however many calls run at once,
 * because all share one allowance.
 *
 * `node:timers` and not the global function, which tests replace by a fake one.
 */
export function runPaced<T>(steps: Generator<undefined, T>): T | Promise<T> {
  const result = runWhileRoom(steps);
  return result?.done === true ? result.value : finishLater(steps);
}

async function finishLater<T>(steps: Generator<undefined, T>): Promise<T> {
  for (;;) {
    queue = queue.then(nextTurn);
    await queue;
    const result = runWhileRoom(steps);
    if (result?.done === true) {
      return result.value;
    }
  }
}

/** The result, or undefined if the allowance of this turn ran out first. */
function runWhileRoom<T>(steps: Generator<undefined, T>): IteratorReturnResult<T> | undefined {
  const room = millisecondsPerTurn - spent;
  const begin = performance.now();
  let elapsed = 0;
  while (elapsed < room) {
    const step = steps.next();
    elapsed = performance.now() - begin;
    if (step.done === true) {
      spend(elapsed);
      return step;
    }
  }
  spend(elapsed);
  return undefined;
}

function spend(milliseconds: number): void {
  if (spent === 0 && milliseconds > 0) {
    setImmediate(() => (spent = 0));
  }
  spent += milliseconds;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) =>
    setImmediate(() => {
      spent = 0;
      resolve();
    }),
  );
}
