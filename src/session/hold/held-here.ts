/** How many turns of each session this process holds: several, where one was lost and its run does not know it yet. */
const held = new WeakMap<object, Map<string, number>>();

/** Notes that this process holds the session's turn; returns a function that ends this, at its first call. */
export function noteHeld(store: object, sessionId: string): () => void {
  const counts = held.get(store) ?? new Map<string, number>();
  held.set(store, counts);
  counts.set(sessionId, (counts.get(sessionId) ?? 0) + 1);
  let isOver = false;
  return () => {
    const left = (counts.get(sessionId) ?? 0) - (isOver ? 0 : 1);
    isOver = true;
    if (left > 0) {
      counts.set(sessionId, left);
    } else {
      counts.delete(sessionId);
    }
  };
}

/** True while this process holds the session's turn, as far as it knows. */
export function isHeld(store: object, sessionId: string): boolean {
  return held.get(store)?.has(sessionId) ?? false;
}
