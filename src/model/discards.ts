import type { CommitRequest } from "../store/session-writes.js";
import type { InMemorySession } from "./session.js";

/** The id of a discarded message, and the time of the discard in seconds since 1970. */
export interface DiscardedId {
  readonly id: string;
  readonly second: number;
}

/**
 * Forgets the ids whose position lies before the session's base; with `remember`, only those that exceed the bound, the
 * oldest first.
 */
export function discardIds(
  session: Pick<InMemorySession, "ids" | "base" | "discarded">,
  { forget, remember }: NonNullable<CommitRequest["discard"]>,
  now: number,
): void {
  const { ids, base, discarded } = session;
  const leaving = forget.filter((id) => (ids.get(id)?.position ?? base) < base);
  if (remember === undefined) {
    leaving.forEach((id) => ids.delete(id));
    return;
  }
  const second = Math.floor(now / 1000);
  const surplus = Math.max(0, discarded.length + leaving.length - remember.count);
  let dropped = 0;
  while (dropped < discarded.length && (dropped < surplus || discarded[dropped]!.second < second - remember.seconds)) {
    dropped += 1;
  }
  discarded.push(...leaving.map((id) => ({ id, second })));
  for (const { id } of discarded.splice(0, Math.max(dropped, discarded.length - remember.count))) {
    if ((ids.get(id)?.position ?? base) < base) {
      ids.delete(id);
    }
  }
}
