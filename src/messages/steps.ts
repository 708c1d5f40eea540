import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls, type CallLinks, type LinkedCall } from "./calls.js";
import { roleOf } from "./roles.js";

/** An AI message and the tool results that belong to it, as ascending indexes into the list. Never to be parted. */
export interface Step {
  readonly indexes: readonly number[];
  /** True while a call of it has no result and no human message follows: the result may still come. */
  readonly pending: boolean;
}

/**
 * For each index from 0 to the length of the list, 1 if the list can be cut before it without splitting a step.
 *
 * A result belongs to the nearest earlier message that called its id, so ids may come again, results may stand apart
 * from their call and steps may interleave. A result without a call binds nothing; a call without a result binds what
 * follows it until a human message comes, or another call takes its id. Linear.
 */
export function findBoundaries(messages: readonly BaseMessage[]): Uint8Array {
  const links = linkCalls(messages);
  const lastMember = new Int32Array(messages.length);
  messages.forEach((_, index) => {
    lastMember[index] = index;
    const caller = links.callOf[index]?.index;
    if (caller !== undefined) {
      lastMember[caller] = index;
    }
  });
  pendingCallers(messages, links).forEach((caller) => (lastMember[caller] = messages.length - 1));
  const boundaries = new Uint8Array(messages.length + 1);
  let reach = -1;
  for (let index = 0; index <= messages.length; index += 1) {
    boundaries[index] = reach < index ? 1 : 0;
    reach = Math.max(reach, lastMember[index] ?? 0);
  }
  return boundaries;
}

/** The steps of a list: one for each AI message, in order, with the results that belong to it. Linear. */
export function stepsOf(messages: readonly BaseMessage[]): Step[] {
  const links = linkCalls(messages);
  const pending = pendingCallers(messages, links);
  const members = new Map<number, number[]>();
  messages.forEach((message, index) => {
    if (roleOf(message) === "ai") {
      members.set(index, [index]);
    }
    members.get(links.callOf[index]?.index ?? -1)?.push(index);
  });
  return [...members].map(([first, indexes]) => ({ indexes, pending: pending.has(first) }));
}

/**
 * True if a step of `before` is only in part in `after`. Messages are the same by id, or by identity if they have
 * none.
 */
export function splitsStep({
  before,
  after,
}: {
  readonly before: readonly BaseMessage[];
  readonly after: readonly BaseMessage[];
}): boolean {
  const kept = new Set(after.map(identityOf));
  return stepsOf(before).some(({ indexes }) => {
    const present = indexes.filter((index) => kept.has(identityOf(before[index]!))).length;
    return present !== 0 && present !== indexes.length;
  });
}

function identityOf(message: BaseMessage): unknown {
  return message.id ?? message;
}

/** Indexes of the messages with a call that may still be answered. */
function pendingCallers(messages: readonly BaseMessage[], { callsAt }: CallLinks): ReadonlySet<number> {
  const lastHuman = messages.findLastIndex((message) => roleOf(message) === "human");
  const latest = new Map<string, LinkedCall[]>();
  for (const [index, calls] of callsAt) {
    for (const call of index > lastHuman ? calls : []) {
      const same = call.id === undefined ? undefined : latest.get(call.id);
      if (same?.[0]?.index === index) {
        same.push(call);
      } else if (call.id !== undefined) {
        latest.set(call.id, [call]);
      }
    }
  }
  const open = [...latest.values()].filter((calls) => calls.every(({ results }) => results.length === 0));
  return new Set(open.map(([call]) => call!.index));
}
