import { speakerOf } from "../../messages/roles.js";
import { isAsking } from "../rules/turn-rules.js";
import { isSystem, mergedOf, mergeSystemMessages, outOfOrder } from "./order.js";
import { note, type Entry, type RepairSession } from "./session.js";

/**
 * Moves late system messages forward, right behind the user's newest message before an answer (S34), or to the front
 * where none follows. Several in one place become one message.
 */
export function placeLateSystems(given: readonly Entry[], session: RepairSession): readonly Entry[] {
  // A message in front of a late one may have been removed since: then it stands at the front.
  const entries = mergeSystemMessages(given, session);
  const misplaced = outOfOrder(entries, session, "S34");
  if (misplaced.size === 0) {
    return entries;
  }
  const moved = entries.filter((_, place) => misplaced.has(place));
  note(session, moved, {
    rule: "S34",
    action: "moved",
    message: "Moved a system message behind the user's newest message.",
  });
  const { placed, waiting } = placedBehind(entries, misplaced);
  const front = placed.findIndex((entry) => !isSystem(entry));
  return mergeSystemMessages([...placed.slice(0, front), ...waiting, ...placed.slice(front)], session);
}

function placedBehind(
  entries: readonly Entry[],
  misplaced: ReadonlySet<number>,
): Record<"placed" | "waiting", Entry[]> {
  const placed: Entry[] = [];
  let waiting: Entry[] = [];
  const place = () => {
    const newest = placed.findLast((entry) => !isSystem(entry));
    if (waiting.length > 0 && newest !== undefined && isAsking(speakerOf(newest.message))) {
      placed.push(mergedOf([...(isSystem(placed.at(-1)!) ? [placed.pop()!] : []), ...waiting]));
      waiting = [];
    }
  };
  entries.forEach((entry, index) => {
    if (misplaced.has(index)) {
      waiting.push(entry);
      return;
    }
    if (!isSystem(entry) && !isAsking(speakerOf(entry.message))) {
      place();
    }
    placed.push(entry);
  });
  place();
  return { placed, waiting };
}
