import { mergeMessages } from "../../messages/copies/merge-messages.js";
import { speakerOf } from "../../messages/roles.js";
import { isAsking, misplacedSystems } from "../rules/turn-rules.js";
import { isSystem, mergeSystemMessages } from "./order.js";
import { mustHold, type Entry, type RepairSession } from "./session.js";

/**
 * Moves late system messages forward, right behind the user's newest message before an answer (S34), or to the front
 * where none follows. Several in one place become one message.
 */
export function placeLateSystems(given: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, purpose } = session.criteria;
  if (profile.lateSystem !== "accepted") {
    return given;
  }
  // A message in front of a late one may have been removed since: then it stands at the front.
  const entries = mergeSystemMessages(given, session);
  const speakers = entries.map(({ message }) => speakerOf(message));
  const misplaced = mustHold(session, "S34") ? misplacedSystems(speakers, { isHistory: purpose === "history" }) : [];
  if (misplaced.length === 0) {
    return entries;
  }
  const message = "Moved a system message behind the user's newest message.";
  session.repairs.push(
    ...misplaced.map((at) => ({ rule: "S34", index: entries[at]!.index, action: "moved", message }) as const),
  );
  const { placed, waiting } = placedBehind(entries, new Set(misplaced));
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
      const there = isSystem(placed.at(-1)!) ? [placed.pop()!] : [];
      placed.push(...merged([...there, ...waiting]));
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

function merged(entries: readonly Entry[]): readonly Entry[] {
  const [first, ...others] = entries;
  return others.length === 0 ? entries : [{ ...first!, message: mergeMessages(entries.map(({ message }) => message)) }];
}
