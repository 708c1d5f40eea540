import * as z from "zod/mini";
import { type UsageSum, report, type MemoryEventHandler } from "../../base/events.js";
import { summaryOf } from "../../store/contract/session-ref.js";
import type { SessionDetails, SessionSummary, ListPlace } from "../../store/contract/session-ref.js";
import { isLocked, namesIn, type SessionMetadata } from "../session/identity.js";
import { ConfigurationError, ConflictError, MemoryError } from "../../base/errors.js";
import { valueIn } from "../../conversation/messages/message.js";
import { lazy, nonEmptyText, nonNegativeInteger } from "../../base/options.js";

/** A session in a list. Times are milliseconds since 1970, server time. */
export interface ListedSession {
  /** The session's id. */
  readonly sessionId: string;
  /** Title of the session, if it has one. */
  readonly title?: string;
  /** Metadata of the application. */
  readonly metadata: SessionMetadata;
  /** Set if title and metadata are omitted, because this process lacks their encryption key. */
  readonly locked?: true;
  /** Time of creation; for sessions of older releases, of the last write. */
  readonly createdAt: number;
  /** Time of the last write. */
  readonly updatedAt: number;
  /** Messages of the transcript. */
  readonly messages: number;
  /** Rounds that have begun. */
  readonly rounds: number;
  /** Tokens of the view, if known. */
  readonly tokens?: number;
  /** Token usage by model, with `trackUsage`. */
  readonly usage?: Readonly<Record<string, UsageSum>>;
  /** Time of expiry, if it expires. */
  readonly expiresAt?: number;
}

/** A session with its owner. */
export interface StoredSession extends ListedSession {
  /** Owner of the session, if it has one. */
  readonly owner?: string;
}

/** The result of `get`. */
export function storedSession(details: SessionDetails): StoredSession {
  return { ...listedSession(summaryOf(details)), ...(details.owner !== undefined && { owner: details.owner }) };
}

/** No parameter fits as long as a field of a summary is none of {@link ListedSession}. */
type AllListed = Record<Exclude<keyof SessionSummary, keyof ListedSession | "label" | "key">, never>;

/** An element of a list. */
export function listedSession({ label, usage, key: _, ...rest }: SessionSummary & AllListed): ListedSession {
  const sums = usage?.map(({ model, input, output, total }): [string, UsageSum] => [
    model,
    { input_tokens: input, output_tokens: output, total_tokens: total },
  ]);
  const names = isLocked(label) ? { metadata: {}, locked: true as const } : namesIn(label);
  return { ...rest, ...names, ...(sums && { usage: Object.fromEntries(sums) }) };
}

/** The place where a list goes on, or a search, behind a session. */
export interface SearchPlace {
  /** The `before` of a page of an owner's list. @default the first page, or all owners */
  readonly page?: ListPlace | undefined;
  /** The session, of that page or of all owners; left out in front of the first one. */
  readonly after?: string;
}

const schema = lazy(() =>
  z.strictObject({
    page: z.optional(z.strictObject({ score: nonNegativeInteger(), member: nonEmptyText() })),
    after: z.optional(nonEmptyText()),
  }),
);

/** Encodes a place as an opaque cursor. */
export function cursorText(place: SearchPlace): string {
  return Buffer.from(JSON.stringify(place)).toString("base64url");
}

const longestCursor = 4_096;

/**
 * Decodes a cursor of a page of `user`.
 *
 * @throws ConfigurationError `cursor` for any other text, and where the place is to name a page and names none.
 */
export function placeIn(user: string, cursor: unknown, { namesPage = false } = {}): SearchPlace {
  const isCursor = typeof cursor === "string" && cursor.length <= longestCursor;
  const { data } = schema().safeParse(valueIn(isCursor ? Buffer.from(cursor, "base64url").toString() : ""));
  if (data === undefined || (namesPage && data.page === undefined)) {
    throw new ConfigurationError("cursor", `${user}: option "cursor" must be the "next" of an earlier page.`);
  }
  return data as SearchPlace;
}

/** A session, thread or store of items that a batch operation skipped. */
export interface SessionProblem {
  /** The skipped session or thread; empty for the items of long-term memory. */
  readonly sessionId: string;
  /** Kind of the skipped data: `thread`, or `item` of long-term memory. @default a session */
  readonly kind?: string;
  /** The reason, such as an EncryptionError `unknown_key`. */
  readonly error: MemoryError;
}

/** Receivers of skipped sessions. */
export interface ProblemListeners {
  readonly onProblem?: ((problem: SessionProblem) => void) | undefined;
  readonly onEvent?: MemoryEventHandler | undefined;
}

/**
 * True for an error of one session, so that a batch operation continues with the next. False for an invalid option, and
 * for errors that the next session would meet too, such as a server that does not answer.
 */
export function concernsOneSession(error: unknown): error is MemoryError {
  return (
    MemoryError.isInstance(error) &&
    !ConfigurationError.isInstance(error) &&
    (!error.retryable || ConflictError.isInstance(error))
  );
}

/** Reports a skipped session by an event, and to the caller. */
export function leaveOut(
  { onProblem, onEvent }: ProblemListeners,
  { operation, ...problem }: SessionProblem & { readonly operation: string },
): void {
  report(onEvent, { type: "session_skipped", operation, ...problem });
  onProblem?.(problem);
}
