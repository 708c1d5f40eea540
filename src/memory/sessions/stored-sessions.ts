import type { UsageSum } from "../../base/events.js";
import { summaryOf, type SessionDetails, type SessionSummary } from "../../store/contract/lists.js";
import { isLocked, namesIn, type SessionMetadata } from "../session/labels.js";

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
