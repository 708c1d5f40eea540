import { setImmediate } from "node:timers";
import type { BaseMessage } from "@langchain/core/messages";
import type { TokenCounter } from "./token-counter.js";

/** Time after which a long count lets other work run. */
const breathMs = 20;

// Held weakly: a count lives as long as its message. Messages are taken not to change once counted.
const counts = new WeakMap<BaseMessage, Map<string, number | Promise<number>>>();

/** Notes a count that is known already, such as one that was stored with the message. */
export function rememberTokens(message: BaseMessage, counterId: string, tokens: number | Promise<number>): void {
  let known = counts.get(message);
  if (known === undefined) {
    known = new Map();
    counts.set(message, known);
  }
  known.set(counterId, tokens);
}

/** Tokens of a message; the counter is asked once per message object, whatever the number of callers. */
export function countOf(counter: TokenCounter, message: BaseMessage): number | Promise<number> {
  const known = counts.get(message)?.get(counter.id);
  if (known !== undefined) {
    return known;
  }
  const tokens = counter.countMessage(message);
  rememberTokens(message, counter.id, tokens);
  if (typeof tokens !== "number") {
    tokens.then(
      (count) => rememberTokens(message, counter.id, count),
      () => counts.get(message)?.delete(counter.id),
    );
  }
  return tokens;
}

/** Tokens of each message, in order. Lets the event loop run in between. */
export async function countEach(counter: TokenCounter, messages: readonly BaseMessage[]): Promise<number[]> {
  const breathe = breather();
  const result: number[] = [];
  for (const message of messages) {
    const tokens = countOf(counter, message);
    result.push(typeof tokens === "number" ? tokens : await tokens);
    const pause = breathe();
    if (pause !== undefined) {
      await pause;
    }
  }
  return result;
}

/** A function to await inside long work: lets other work run if 20 milliseconds have passed since the last time. */
export function breather(): () => Promise<void> | undefined {
  let since = performance.now();
  return () => {
    if (performance.now() - since < breathMs) {
      return undefined;
    }
    return new Promise((resolve) => setImmediate(resolve)).then(() => {
      since = performance.now();
    });
  };
}
