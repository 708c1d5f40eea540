import { callsOf } from "../../messages/calls.js";
import { mergeMessages } from "../../messages/copies/merge-messages.js";
import { speakerOf } from "../../messages/roles.js";
import { isAsking, misplacedSystems } from "../rules/turn-rules.js";
import { isSystem, mergeSystemMessages } from "./order.js";
import { mustHold, type Entry, type RepairSession } from "./session.js";

/**
 * Moves late system messages forward, right behind the user's newest message before an answer (S34); where none
 * follows, back behind the last one, and without any to the front. Several in one place become one message.
 */
export function placeLateSystems(given: readonly Entry[], session: RepairSession): readonly Entry[] {
  const { profile, purpose } = session.criteria;
  if (profile.lateSystem !== "accepted") {
    return given;
  }
  // A message in front of a late one may have been removed since: then it stands at the front.
  const entries = mergeSystemMessages(given, session);
  if (!mustHold(session, "S34")) {
    return entries;
  }
  const speakers = entries.map(({ message }) => speakerOf(message));
  const misplaced = new Set(misplacedSystems(speakers, { isHistory: purpose === "history" }).map((at) => entries[at]!));
  if (misplaced.size === 0) {
    return entries;
  }
  const isDropped = session.choices.systemMessages === "drop";
  for (const { index } of misplaced) {
    session.repairs.push({
      rule: "S34",
      index,
      action: isDropped ? "removed" : "moved",
      message: isDropped
        ? "Removed a late system message."
        : "Moved a system message behind the user's newest message.",
    });
  }
  return isDropped ? entries.filter((entry) => !misplaced.has(entry)) : placed(entries, session);
}

function placed(entries: readonly Entry[], session: RepairSession): readonly Entry[] {
  const front = entries.findIndex((entry) => !isSystem(entry));
  const made = entries.slice(0, front);
  let waiting: Entry[] = [];
  let last = -1;
  const speakers = entries.map(({ message }) => speakerOf(message));
  entries.slice(front).forEach((entry, index) => {
    const speaker = speakers[front + index]!;
    if (speaker === "system") {
      waiting.push(entry);
      return;
    }
    if (last === made.length - 1 && last !== -1 && !isAsking(speaker)) {
      made.push(...merged(waiting));
      waiting = [];
    }
    made.push(entry);
    last = isAsking(speaker) ? made.length - 1 : last;
  });
  return withWaiting(made, { waiting, last, front }, session);
}

interface Waiting {
  readonly waiting: readonly Entry[];
  /** Index of the last message of the user or tool result; -1 if there is none. */
  readonly last: number;
  readonly front: number;
}

/** The messages with those system messages behind which nobody asks any more. */
function withWaiting(
  made: readonly Entry[],
  { waiting, last, front }: Waiting,
  session: RepairSession,
): readonly Entry[] {
  // Behind a call that waits for its result nothing may stand.
  const isAnswered = last !== made.length - 1 && callsOf(made.at(-1)!.message).length === 0;
  if (session.criteria.purpose === "history" && isAnswered) {
    return [...made, ...waiting];
  }
  if (last === -1) {
    return mergeSystemMessages([...made.slice(0, front), ...waiting, ...made.slice(front)], session);
  }
  const there = made.slice(last + 1).findIndex((entry) => !isSystem(entry));
  const end = there === -1 ? made.length : last + 1 + there;
  return [...made.slice(0, last + 1), ...merged([...made.slice(last + 1, end), ...waiting]), ...made.slice(end)];
}

function merged(entries: readonly Entry[]): readonly Entry[] {
  const [first, ...others] = entries;
  if (first === undefined || others.length === 0) {
    return entries;
  }
  const message = mergeMessages(entries.map((entry) => entry.message));
  return [{ ...first, message, merged: others.map(({ index }) => index) }];
}
