/** The end of each line: a promise that resolves when nobody in it is waiting any more. */
const ends = new WeakMap<object, Map<string, Promise<void>>>();

/** A place in a line of this process. */
export interface LinePlace {
  /** Resolves when all before it have left; undefined where nobody is. */
  readonly first: Promise<void> | undefined;
  /** Lets the next one in the line go on; also for one that gives up before it is the first. */
  leave(): void;
}

/**
 * Joins the line of this process for a session's turn, so that only the first of a process asks the store, and those of
 * one process take their turns in the order in which they came.
 */
export function joinLine(store: object, sessionId: string): LinePlace {
  const lines = ends.get(store) ?? new Map<string, Promise<void>>();
  ends.set(store, lines);
  const first = lines.get(sessionId);
  let leave!: () => void;
  const own = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const end = first === undefined ? own : first.then(() => own);
  lines.set(sessionId, end);
  void end.then(() => lines.get(sessionId) === end && lines.delete(sessionId));
  return { first, leave };
}
