import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { lazy, parseOptions, positiveInteger } from "../../base/options.js";
import { limitedText, maxListLimit } from "../../store/contract/session-ref.js";
import { checkOwnerName } from "../session/identity.js";
import { placeIn, type StoredSession } from "./stored-sessions.js";

/** Type of a message whose text is searched. */
export type SearchedRole = "human" | "ai" | "tool" | "system";

/**
 * Options of `memory.sessions.search`.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import type { SessionSearchOptions } from "langchain-redis-memory/sessions";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379" });
 * const asked: SessionSearchOptions = { owner: "user-1", text: "oslo", limit: 10 };
 * const { sessions, next } = await memory.sessions.search(asked);
 * console.log(sessions.map(({ sessionId, match }) => `${sessionId}: ${match?.message.text}`));
 * const more = await memory.sessions.search({ ...asked, cursor: next });
 */
export interface SessionSearchOptions {
  /** Owner of the sessions. Left out, the sessions of all owners are searched, by a scan of all keys of Redis. */
  readonly owner?: string;
  /** Text that a message or the title contains, in any case. */
  readonly text: string;
  /** Types of the messages whose text is searched. @default ["human", "ai"] */
  readonly roles?: readonly SearchedRole[];
  /** Maximum number of sessions found, 1 to 1,000. @default 30 */
  readonly limit?: number;
  /** Cursor: the `next` of an earlier search with the same options; null finds nothing. @default the first sessions */
  readonly cursor?: string | null | undefined;
  /** Messages after which a call begins no session; of one it reads the newest so many. @default 20_000 */
  readonly maxMessages?: number;
}

/** The newest message that contains the text. */
export interface SearchMatch {
  /** Stable position of the message in the session. */
  readonly position: number;
  /** Time of storing, in milliseconds since 1970, if known. */
  readonly at?: number;
  /** The stored message. */
  readonly message: BaseMessage;
}

/** A session that a search found. */
export interface FoundSession extends StoredSession {
  /** The match; left out where only the title contains the text. */
  readonly match?: SearchMatch;
}

/** Result of a search. */
export interface SessionSearch {
  /** The sessions found, by last write, newest first; without `owner`, by their ids. */
  readonly sessions: readonly FoundSession[];
  /** Cursor by which the search goes on, where it ended by `limit` or `maxMessages`; null at its end. */
  readonly next: string | null;
  /** The work of this call. */
  readonly searched: {
    /** Sessions looked at. */
    readonly sessions: number;
    /** Messages read. */
    readonly messages: number;
    /** Sessions that could not be read, such as those whose key is missing; each is an event `session_skipped`. */
    readonly skipped: number;
  };
}

const schema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    text: limitedText("search"),
    roles: z._default(
      z.array(z.enum(["human", "ai", "tool", "system"], 'must be "human", "ai", "tool" or "system"'), "must be a list"),
      ["human", "ai"],
    ),
    limit: z._default(positiveInteger().check(z.maximum(maxListLimit, `must be at most ${maxListLimit}`)), 30),
    cursor: z.optional(z.unknown()),
    maxMessages: z._default(positiveInteger(), 20_000),
  }),
);

/** Checked options of a search; `place` is where it goes on, null behind the end. */
export type CheckedSearch = ReturnType<typeof checkedSearch>;

/** @throws ConfigurationError, also for an owner that is given as undefined: it would find the sessions of all. */
export function checkedSearch(options: SessionSearchOptions) {
  const { owner, cursor, text, ...rest } = parseOptions("sessions.search", schema(), options);
  if ("owner" in options) {
    checkOwnerName("sessions.search", owner);
  }
  const place = cursor === undefined ? {} : cursor === null ? null : placeIn("sessions.search", cursor);
  return { ...rest, text: foldedText(text), owner: owner as string | undefined, place };
}

/** A text without the differences of case and of composed characters. */
export function foldedText(text: string): string {
  return (isASCII(text) ? text : text.normalize("NFKC")).toUpperCase();
}

/**
 * A test of records that is false for most of those whose message does not contain all of the texts, which are folded,
 * and true for each whose message does: decoding all records takes three times as long. It decides by texts of letters,
 * digits and spaces, about messages of one such text: others, and encrypted ones, are to be decoded.
 */
export function textFilter(texts: readonly string[]): (record: string) => boolean {
  if (!texts.every((text) => /^[\w ]*$/.test(text))) {
    return () => true;
  }
  const patterns = texts.map((text) => new RegExp(text, "i"));
  const isDecided = (record: string) => isASCII(record) && oneText.test(record) && !record.includes("\\u");
  // The test that decides for most comes first.
  return (record) => patterns.every((pattern) => pattern.test(record)) || !isDecided(record);
}

/** By its bytes, which takes a tenth of the time of a regular expression. */
const isASCII = (text: string) => Buffer.byteLength(text) === text.length;

/** How the records of messages begin whose content is one text. */
const oneText = /^\{"type":"\w+","data":\{"content":"/;
