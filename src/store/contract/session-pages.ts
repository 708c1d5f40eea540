import type { ViewSize } from "../../base/events.js";
import type { WholeState } from "./copies.js";
import type { SessionData } from "./session-data.js";
import type { SessionRef } from "./session-ref.js";

/** Number of reductions that a session remembers; the oldest are forgotten first. */
export const maxReductions = 100;

/** Which records a page holds: at most one of `before`, `after`, `around` and `since`; by default the newest. */
export interface StoredPageRequest {
  readonly before?: number;
  /** The records after this position; -1 for the oldest. */
  readonly after?: number;
  /** The records around the message of this id. */
  readonly around?: string;
  /** The records from the message of this id on. */
  readonly since?: string;
  readonly limit: number;
}

/** A page of the log, with the state of the session. */
export interface StoredPage {
  readonly records: readonly string[];
  readonly from: number;
  readonly base: number;
  readonly next: number;
  readonly damaged: boolean;
  readonly epoch: string;
  readonly rev: string;
  /** The position behind the last record of the page, also where records of it are missing. */
  readonly to: number;
  readonly start: number;
  /** Rounds that have begun since the session was created. */
  readonly rounds: number;
  /** The session's head if the page begins before the start; else `""`. */
  readonly head: string;
}

/** Statistics of a session; times in milliseconds since 1970. */
export interface StoredStats {
  readonly messages: number;
  readonly rounds: number;
  readonly viewMessages: number;
  readonly viewTokens: number | undefined;
  readonly counter: string;
  /** True if the view is the whole log. */
  readonly isWhole: boolean;
  /** The last reductions, oldest first, at most `maxReductions`, and the number of all. */
  readonly reductions: readonly StoredReduction[];
  readonly reduced: number;
  /** Undefined for a session that was created by an older release. */
  readonly createdAt: number | undefined;
  readonly updatedAt: number | undefined;
  readonly expiresAt: number | undefined;
  readonly damaged: boolean;
}

/** The statistics of a session by its state. */
export function statsOf(state: WholeState): StoredStats {
  const { messages, rounds, counter = "", reductions, reduced, createdAt, updatedAt, expiresAt, damaged } = state;
  const { base, start, next, headCount, tokens } = state;
  return {
    ...{ messages, rounds, counter, reductions, reduced, createdAt, updatedAt, expiresAt, damaged },
    // The start of a damaged session may lie behind its end.
    viewMessages: Math.max(0, headCount + Math.min(next - start, messages)),
    viewTokens: tokens,
    isWhole: base === 0 && start === 0 && headCount === 0,
  };
}

/** A size of the view. */
export type ReductionSize = ViewSize;

/**
 * One reduction of a session.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * for (const { at, before, after } of await history.getReductions()) {
 *   console.log(new Date(at).toISOString(), `${before.messages} → ${after.messages} messages`);
 * }
 */
export interface StoredReduction {
  /** When it was stored, in milliseconds since 1970. */
  readonly at: number;
  /** The new start: the position from which the view shows the log as it is. */
  readonly start: number;
  /** Number of messages in the new head. */
  readonly head: number;
  /** The view's size before and after it. */
  readonly before: ReductionSize;
  /** The view's size after it. */
  readonly after: ReductionSize;
  /** The reducer's limit of the view in tokens; left out for a reducer that counts messages. */
  readonly maxTokens?: number;
}

/** More records than a session can hold. */
export const wholeLog = 2 ** 40;

/** Records of the log from a position on, by default all; oldest first. */
export async function readLog(
  { data }: { readonly data: Pick<SessionData, "readPage"> },
  session: SessionRef,
  options: { readonly from?: number; readonly limit?: number } = {},
): Promise<Pick<StoredPage, "records" | "from" | "base" | "next" | "damaged">> {
  const request = { after: (options.from ?? 0) - 1, limit: options.limit ?? wholeLog };
  const { records, from, base, next, damaged } = (await data.readPage(session, request))!;
  return { records, from, base, next, damaged };
}

/** The positions of a page: its first, and the one behind its last. `position` is that of the id in the request. */
export function pageBounds(
  { before, after, since, limit }: StoredPageRequest,
  { base, next, position }: { readonly base: number; readonly next: number; readonly position: number | undefined },
): { readonly from: number; readonly to: number } {
  const within = (position: number) => Math.min(Math.max(position, base), next);
  if (position !== undefined || after !== undefined) {
    const centred = Math.min(position! - Math.floor((limit - 1) / 2), next - limit);
    const from = position === undefined ? within(after! + 1) : since === undefined ? within(centred) : position;
    return { from, to: Math.min(next, from + limit) };
  }
  const to = within(before ?? next);
  return { from: Math.max(base, to - limit), to };
}
