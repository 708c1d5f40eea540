import type { BaseMessage } from "@langchain/core/messages";
import { linkCalls } from "../messages/call-links.js";
import { interruptedMessage } from "./turn-output.js";

/**
 * What a run that was stopped had answered, as it is stored: whole steps, and what was said behind them, marked as
 * interrupted. Calls that have no result yet are left out with all that follows them.
 */
export function interruptedAnswer(messages: readonly BaseMessage[]): BaseMessage[] {
  const { callsAt } = linkCalls(messages);
  const open = messages.findIndex((_, index) => callsAt.get(index)?.some(({ results }) => results.length === 0));
  const end = open < 0 ? messages.length - 1 : open;
  const last = interruptedMessage(messages[end]);
  const isResult = open < 0 && messages[end]?.getType() === "tool";
  const whole = messages.slice(0, isResult ? end + 1 : Math.max(end, 0));
  return last === undefined ? whole : [...whole, last];
}
