import type { AppendRequest, CommitRequest, NewRecord } from "../contract/session-writes.js";
import type { SessionView } from "../contract/session-reads.js";

/** Tokens of a view under a counter; undefined and `""` where not known. */
export type TokenTotal = Pick<SessionView, "tokens" | "counter">;

/** The total that is not known. */
export const unknownTotal: TokenTotal = { tokens: undefined, counter: "" };

/**
 * The total after records were added: known while every append uses the same counter. `before` is undefined for a
 * session to which nothing was appended or committed yet; `counter` is that of the append's plan.
 */
export function totalAfterAppend(
  before: TokenTotal | undefined,
  fresh: readonly NewRecord[],
  counter: string | undefined,
): TokenTotal | undefined {
  if (fresh.length === 0) {
    return before;
  }
  const base = before === undefined ? 0 : before.counter === counter ? before.tokens : undefined;
  if (counter === undefined || base === undefined) {
    return unknownTotal;
  }
  return { tokens: fresh.reduce((sum, { tokens = 0 }) => sum + tokens, base), counter };
}

/** The total after a reduction was committed to a session with this total and next position. */
export function totalAfterCommit(before: TokenTotal & { readonly next: number }, request: CommitRequest): TokenTotal {
  const { next, tokens, counter, tokensRead } = request;
  if (tokens === undefined || counter === undefined) {
    return unknownTotal;
  }
  if (before.next === next) {
    return { tokens, counter };
  }
  // The difference of both totals is the size of records that were appended since the view was read.
  return before.tokens === undefined || before.counter !== counter || tokensRead === undefined
    ? unknownTotal
    : { tokens: tokens + (before.tokens - tokensRead), counter };
}

/** True where an append must return the view, because it exceeds the request's limit or its total is not known. */
export function exceedsLimit(
  view: TokenTotal & Pick<SessionView, "headCount" | "start" | "next">,
  { viewLimit, counter }: Pick<AppendRequest, "viewLimit" | "counter">,
): boolean {
  const { messages, tokens, fromStart } = viewLimit ?? {};
  if (messages !== undefined && view.headCount + view.next - view.start > messages) {
    return true;
  }
  if (fromStart !== undefined && view.next - view.start > fromStart) {
    return true;
  }
  return tokens !== undefined && (view.tokens === undefined || view.counter !== counter || view.tokens > tokens);
}
