import { AsyncLocalStorage } from "node:async_hooks";

/** A turn whose function is running. */
interface RunningTurn {
  readonly store: object;
  readonly sessionId: string;
  isOver: boolean;
}

/** The turns within which the running code was called. */
const running = new AsyncLocalStorage<readonly RunningTurn[]>();

/** Runs a function within a turn: what it calls, and what that calls, knows of the turn until it is over. */
export async function runWithin<Result>(
  place: Pick<RunningTurn, "store" | "sessionId">,
  run: () => Result | Promise<Result>,
): Promise<Result> {
  const turn = { ...place, isOver: false };
  try {
    return await running.run([...(running.getStore() ?? []), turn], run);
  } finally {
    turn.isOver = true;
  }
}

/** True within a turn of the session that is not over: another one would wait for the code that waits for it. */
export function isWithin(store: object, sessionId: string): boolean {
  const turns = running.getStore() ?? [];
  return turns.some((turn) => !turn.isOver && turn.store === store && turn.sessionId === sessionId);
}
