import { decodeHead, identifyRecord } from "../../store/codec/stored-record.js";
import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { metaOf } from "../../store/codec/decode-record.js";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import { limitedText, type SessionRef } from "../../store/contract/session-ref.js";
import { beginsRound } from "../../store/contract/append-decision.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { lazy, nonNegativeInteger, parseOptions, positiveInteger } from "../../base/options.js";
import { refusedMarkOf } from "../../conversation/messages/message.js";
import type { StoredPage, StoredReduction } from "../../store/contract/session-data.js";
import type { SessionOfMemory } from "./memory-context.js";
import { inTurnOrder, decodeEntries } from "./view.js";

/** Range of a page: at most one of `before`, `after` and `around`; without one, the newest messages. */
export interface PageOptions {
  /** Exclusive end position: the `previous` of a newer page; null returns an empty page. */
  readonly before?: number | null | undefined;
  /** Exclusive start position: the `next` of an older page, -1 for the oldest page; null returns an empty page. */
  readonly after?: number | null | undefined;
  /** Id of the message in the middle of the page. */
  readonly around?: string;
  /** Maximum number of messages. @default 50 */
  readonly limit?: number;
  /**
   * Order of the messages: each answer next to its question, even if it was stored behind a later turn
   * (`conversation`), or by position (`log`).
   * @default "conversation"
   */
  readonly order?: "conversation" | "log";
}

/** A message on a page. */
export interface PageItem {
  /** Stable position of the message in the session; 0 is the first message ever stored. */
  readonly position: number;
  /** Time of storing, in milliseconds since 1970; absent for messages of older releases. Not monotonic. */
  readonly at?: number;
  /**
   * Name shared by the messages of one turn: an answer whose question is on an older page belongs after the last
   * message there with the same name. Absent for messages stored without a turn.
   */
  readonly turn?: string;
  /** The stored message. */
  readonly message: BaseMessage;
  /** True if the message is in the view, also shortened or as a copy in the head. */
  readonly inView: boolean;
  /**
   * Set on the message without text that marks a refused request, which stands behind its question: why the provider
   * refused it for good. Models see neither of the two in later turns.
   */
  readonly refused?: {
    /** `too_long` for the model's window or a limit of the reducer; `refused` for what it says. */
    readonly reason: "too_long" | "refused";
    /** The provider's HTTP status, if it named one. */
    readonly status?: number;
  };
}

/** A page of a session's messages, oldest first. */
export interface MessagePage {
  /** The messages. An unreadable record is skipped and reported to `onEvent`; the others keep their positions. */
  readonly items: PageItem[];
  /** Messages that are stored. */
  readonly total: number;
  /** Cursor `before` of the page of older messages; null if there are none. */
  readonly previous: number | null;
  /** Cursor `after` of the page of newer messages; null if there are none. */
  readonly next: number | null;
}

/**
 * Statistics of a session; times in milliseconds since 1970, by the server's clock.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const history = new RedisChatMemory({ url: "redis://localhost:6379" }).history("chat-7");
 * const { messages, view } = await history.stats();
 * console.log(`The model sees ${view.messages} of ${messages} messages.`);
 */
export interface HistoryStats {
  /** Messages that are stored. */
  readonly messages: number;
  /** Rounds that have begun. */
  readonly rounds: number;
  /** Size of the view; `tokens` if a token counter counted all of it. */
  readonly view: {
    /** Messages of the view. */
    readonly messages: number;
    /** Tokens of the view; absent if unknown. */
    readonly tokens?: number;
  };
  /** Tokens of all messages; absent if unknown, and once the view is smaller than the transcript. */
  readonly tokens?: number;
  /** Reductions since the session was created. */
  readonly reductions: number;
  /** Time of creation; absent for a session that does not exist, or that an older release created. */
  readonly createdAt?: number;
  /** Time of the last write; absent for a session that does not exist. */
  readonly updatedAt?: number;
  /** Time of expiry; absent for a session that does not expire. */
  readonly expiresAt?: number;
}

const schema = lazy(() =>
  z.strictObject({
    before: z.optional(z.nullable(nonNegativeInteger())),
    after: z.optional(
      z.nullable(z.int("must be an integer of -1 or more").check(z.minimum(-1, "must be an integer of -1 or more"))),
    ),
    around: z.optional(limitedText("id")),
    limit: z._default(positiveInteger(), 50),
    order: z._default(z.enum(["conversation", "log"], 'must be "conversation" or "log"'), "conversation"),
  }),
);

/** Positions of the empty pages at both ends, for null. */
const inFrontOfAll = 0;
const behindAll = Number.MAX_SAFE_INTEGER - 1;

/**
 * Reads a page of a session's messages. One round trip.
 *
 * @throws ConfigurationError; ConflictError `unknown_message` if no message has the id `around`.
 */
export async function readMessagePage(
  { sessionId, ref, context }: SessionOfMemory,
  options: PageOptions,
): Promise<MessagePage> {
  const { store, onEvent, strict } = context;
  const checked = parseOptions("getPage", schema(), options);
  const { before, after, around, limit } = checked;
  const places = [before, after, around].filter((place) => place !== undefined);
  if (places.length > 1) {
    const message = 'getPage: give at most one of "before", "after" and "around".';
    throw new ConfigurationError(after === undefined ? "around" : "after", message);
  }
  const page = await store.data.readPage(ref, {
    limit,
    ...(before !== undefined && { before: before ?? inFrontOfAll }),
    ...(after !== undefined && { after: after ?? behindAll }),
    ...(around !== undefined && { around }),
  });
  if (page === undefined) {
    const message = "getPage: the session has no message with this id; use an id from a page or the transcript.";
    throw new ConflictError(message, { code: "unknown_message", sessionId, messageId: around! });
  }
  if (page.damaged) {
    report(onEvent, { type: "damaged", sessionId, operation: "getPage" });
  }
  const inHead = new Set(headIds(page.head));
  const log = decodeEntries(page.records, { sessionId, strict, onEvent }, page.from);
  const entries = checked.order === "log" ? log : inTurnOrder(log);
  const items = entries.map(({ message, record, position }) => {
    const { at, turn } = metaOf(record);
    const inView = position! >= page.start || (message.id !== undefined && inHead.has(message.id));
    const refused = refusalIn(message);
    const place = { position: position!, ...(at !== undefined && { at }), ...(turn && { turn }) };
    return { ...place, message, inView: inView && refused === undefined, ...(refused && { refused }) };
  });
  return { items, ...edgesOf(page) };
}

function refusalIn(message: BaseMessage): PageItem["refused"] {
  const { reason, status } = refusedMarkOf(message) ?? {};
  return reason && { reason, ...(status !== undefined && { status }) };
}

/** Reads the statistics of a session. One round trip. */
export async function readHistoryStats({ sessionId, ref, context }: SessionOfMemory): Promise<HistoryStats> {
  const stats = await context.store.data.readStats(ref);
  if (stats === undefined) {
    return { messages: 0, rounds: 0, view: { messages: 0 }, reductions: 0 };
  }
  if (stats.damaged) {
    report(context.onEvent, { type: "damaged", sessionId, operation: "stats" });
  }
  const { messages, rounds, viewMessages, viewTokens, isWhole, reduced: reductions } = stats;
  const { createdAt, updatedAt, expiresAt } = stats;
  const tokens = viewTokens === undefined ? {} : { tokens: viewTokens };
  return {
    ...{ messages, rounds, reductions, view: { messages: viewMessages, ...tokens } },
    ...(isWhole && tokens),
    ...(createdAt !== undefined && { createdAt }),
    ...(updatedAt !== undefined && { updatedAt }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** The last reductions of a session, oldest first. One round trip. */
export async function readLastReductions({ ref, context }: SessionOfMemory): Promise<StoredReduction[]> {
  return [...((await context.store.data.readStats(ref))?.reductions ?? [])];
}

/** The records of the last rounds. */
export interface LastRounds extends Pick<StoredPage, "records" | "from" | "damaged"> {
  /** Number of the first round that begins among them; the first one of a session is 1. */
  readonly firstRound: number;
}

/** Records that are read for each round at first; sixteen times as many where they do not suffice. */
const roundLength = 8;

/** The last `count` rounds of the log, whole, even if they lie before the start; fewer if the log has fewer. */
export async function readLastRounds(
  { data }: Pick<SessionStore, "data">,
  ref: SessionRef,
  count: number,
): Promise<LastRounds> {
  for (let limit = roundLength * count; ; limit *= 16) {
    const { records, from, base, rounds, damaged } = (await data.readPage(ref, { limit }))!;
    const begins = records.flatMap((record, index) => (beginsRound(record) ? [index] : []));
    if (begins.length >= count || from <= base) {
      const first = begins.at(-count) ?? 0;
      const firstRound = Math.max(1, rounds - Math.min(count, begins.length) + 1);
      return { records: records.slice(first), from: from + first, firstRound, damaged };
    }
  }
}

function edgesOf({ base, from, to, next }: StoredPage): Omit<MessagePage, "items"> {
  return { total: next - base, previous: from > base ? from : null, next: to < next ? to - 1 : null };
}

/** Ids of the messages in a head that the store has opened; empty for an unreadable one: a read of the view tells. */
export function headIds(head: string): string[] {
  try {
    return decodeHead(head).flatMap((record) => identifyRecord(record)?.id ?? []);
  } catch {
    return [];
  }
}
