import type { BaseMessage } from "@langchain/core/messages";
import { answeredId, callsOf, speakerOf, type Call } from "./message-parts.js";

/** A call, the message that makes it (its index), and the indexes of its results in order; more than one is one too many. */
export interface LinkedCall extends Call {
  readonly index: number;
  /** Its place among the calls of its message. */
  readonly place: number;
  readonly results: number[];
}

/** Which result belongs to which call. */
export interface CallLinks {
  /** The calls of each message that makes some, by the message's index. */
  readonly callsAt: ReadonlyMap<number, readonly LinkedCall[]>;
  /** For each tool result its call; without entry, a result is an orphan. */
  readonly callOf: ReadonlyMap<number, LinkedCall>;
  /** For each tool result, the index of the last message before it that is no tool result; -1 at the front. */
  readonly blockOf: ReadonlyMap<number, number>;
  /** Index of the message whose calls may still be answered: only tool results follow it. -1 if there is none. */
  readonly frontier: number;
}

/**
 * The calls of a conversation with their results. A result belongs to the nearest earlier message that called its id; where that
 * message called it more than once, to the first of these calls that is still open. Linear.
 */
export function linkCalls(messages: readonly BaseMessage[]): CallLinks {
  const callsAt = new Map<number, readonly LinkedCall[]>();
  const callOf = new Map<number, LinkedCall>();
  const blockOf = new Map<number, number>();
  const latest = new Map<string, OpenCalls>();
  let previous = -1;
  messages.forEach((message, index) => {
    if (speakerOf(message) === "tool") {
      const call = takeResult(latest.get(answeredId(message)), index);
      blockOf.set(index, previous);
      if (call !== undefined) {
        callOf.set(index, call);
      }
      return;
    }
    previous = index;
    const calls = callsOf(message).map((call, place) => ({ ...call, index, place, results: [] }));
    if (calls.length > 0) {
      callsAt.set(index, calls);
      groupById(calls).forEach((open, id) => latest.set(id, open));
    }
  });
  return { callsAt, callOf, blockOf, frontier: callsAt.has(previous) ? previous : -1 };
}

/** Calls of one message that share an id; those before `next` have a result. */
interface OpenCalls {
  readonly calls: LinkedCall[];
  next: number;
}

function takeResult(open: OpenCalls | undefined, index: number): LinkedCall | undefined {
  if (open === undefined) {
    return undefined;
  }
  const call = open.calls[Math.min(open.next, open.calls.length - 1)]!;
  open.next += 1;
  call.results.push(index);
  return call;
}

function groupById(calls: readonly LinkedCall[]): Map<string, OpenCalls> {
  const groups = new Map<string, OpenCalls>();
  for (const call of calls) {
    const id = call.id ?? "";
    const group = groups.get(id);
    if (group === undefined) {
      groups.set(id, { calls: [call], next: 0 });
    } else {
      group.calls.push(call);
    }
  }
  return groups;
}
