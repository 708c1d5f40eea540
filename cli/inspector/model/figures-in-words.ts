import type { SessionState } from "./data.js";
import type { UsageSum } from "./facts-of-models.js";

/** A whole number with separators. */
export function whole(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

/** A number with what it counts, `noun` in the singular. */
export function counted(count: number, noun: string): string {
  return `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** The cost of answers, such as `2 answers: 5,210 tokens in (4,000 cached), 320 out, cost 0.0123`. */
export function usageWords({ answers, input, output, cached, cost, unpriced }: UsageSum): string {
  const read = cached === 0 ? "" : ` (${whole(cached)} cached)`;
  const tokens = `${counted(answers, "answer")}: ${counted(input, "token")} in${read}, ${whole(output)} out`;
  const least = unpriced.length === 0 ? "" : ` without ${unpriced.join(", ")}`;
  return cost === undefined ? tokens : `${tokens}, cost ${moneyOf(cost)}${least}`;
}

/** An amount in whatever currency its prices are in. */
function moneyOf(cost: number): string {
  return cost === 0 || cost >= 0.01 ? cost.toFixed(cost < 1 ? 4 : 2) : cost.toPrecision(2);
}

/** A time to the second, in UTC. */
export function secondOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 19).replace("T", " ");
}

/** A size of the view, such as `42 messages (8,120 tokens)`. */
export function sizeOf({ messages, tokens }: { readonly messages: number; readonly tokens?: number }): string {
  return `${counted(messages, "message")}${tokens === undefined ? "" : ` (${counted(tokens, "token")})`}`;
}

/** The stored messages and their rounds, as the list of sessions counts them. */
export function storedWords({ base, next, rounds }: SessionState): string {
  return `${counted(next - base, "message")} in ${counted(Math.min(rounds, next - base), "round")}`;
}

/** The cause of missing messages: retention cuts where a reduction begins the view, and nowhere else. */
export function missingWords({ base, reductions, reductionCount }: SessionState): string {
  const oldest = `The oldest ${counted(base, "message")}`;
  const isForgotten = reductionCount > reductions.length && base < reductions[0]!.start;
  if (isForgotten || reductions.some(({ start }) => start === base)) {
    return `${oldest} were discarded by the session’s retention.`;
  }
  return `${oldest} are not stored: Redis lost them before a rebuild, or this is a copy of a session without them.`;
}
