import type { BaseMessage } from "@langchain/core/messages";
import { answeredId, type Call, callsOf } from "./calls.js";
import { speakerOf } from "./roles.js";

/** A call, the index of the message that makes it, and the indexes of its results in order (there should be one). */
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
  /** For each message the call that it answers; undefined for an orphan, and for all but tool results. */
  readonly callOf: readonly (LinkedCall | undefined)[];
  /** For each message, the index of the last message before it that is not a tool result; -1 if there is none. */
  readonly blockOf: Int32Array;
  /** Index of the message whose calls may still be answered: only tool results follow it. -1 if there is none. */
  readonly frontier: number;
}

/** Calls of one message that share an id; those before `next` have a result. */
interface OpenCalls {
  readonly index: number;
  readonly calls: LinkedCall[];
  next: number;
}

/**
 * The calls of a conversation with their results. A result belongs to the nearest earlier message that called its id;
 * if that message called it more than once, to the first of these calls that is still open. Linear.
 */
export function linkCalls(messages: readonly BaseMessage[]): CallLinks {
  const callsAt = new Map<number, readonly LinkedCall[]>();
  const callOf: (LinkedCall | undefined)[] = new Array<undefined>(messages.length).fill(undefined);
  const blockOf = new Int32Array(messages.length);
  const latest = new Map<string, OpenCalls>();
  let previous = -1;
  messages.forEach((message, index) => {
    blockOf[index] = previous;
    if (speakerOf(message) === "tool") {
      callOf[index] = takeResult(latest.get(answeredId(message) ?? ""), index);
      return;
    }
    previous = index;
    const calls = callsOf(message).map(({ id, name, args, readable }, place) => ({
      id,
      name,
      args,
      readable,
      index,
      place,
      results: [],
    }));
    if (calls.length > 0) {
      callsAt.set(index, calls);
      calls.forEach((call) => openCall(latest, call));
    }
  });
  return { callsAt, callOf, blockOf, frontier: callsAt.has(previous) ? previous : -1 };
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

function openCall(latest: Map<string, OpenCalls>, call: LinkedCall): void {
  const id = call.id ?? "";
  const open = latest.get(id);
  if (open?.index === call.index) {
    open.calls.push(call);
  } else {
    latest.set(id, { index: call.index, calls: [call], next: 0 });
  }
}
