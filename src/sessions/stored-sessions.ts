import type { SessionDetails, SessionSummary } from "../store/lists.js";
import { isLocked, namesIn, type SessionMetadata } from "../session/session-labels.js";

/**
 * Tokens that stored answers of a model took.
 * @example
 * import { RedisChatMemory } from "langchain-redis-memory";
 *
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", trackUsage: true });
 * const session = await memory.sessions.get("chat-7");
 * for (const [model, { input_tokens, output_tokens }] of Object.entries(session?.usage ?? {})) {
 *   console.log(`${model}: ${input_tokens} tokens read, ${output_tokens} written`);
 * }
 */
export interface UsageSum {
  /** Tokens of the prompts. */
  readonly input_tokens: number;
  /** Tokens of the answers. */
  readonly output_tokens: number;
  /** Both, as the provider adds them up. */
  readonly total_tokens: number;
}

/** A session in a list. Times are milliseconds since 1970, server time. */
export interface ListedSession {
  /** The session's id. */
  readonly sessionId: string;
  /** What people call the session; left out where it has no title. */
  readonly title?: string;
  /** In a list the first keys that fit into 1 kB. */
  readonly metadata: SessionMetadata;
  /** Set where title and metadata are encrypted with a key that this process does not have; they are left out. */
  readonly locked?: true;
  /** When the session was created; where an older release did, the time of the last write. */
  readonly createdAt: number;
  /** When it was last written. */
  readonly updatedAt: number;
  /** Messages of the transcript. */
  readonly messages: number;
  /** Rounds that have begun. */
  readonly rounds: number;
  /** Tokens of the view, where they are known. */
  readonly tokens?: number;
  /** By model, with `trackUsage`. */
  readonly usage?: Readonly<Record<string, UsageSum>>;
  /** When it expires; left out for a session that does not. */
  readonly expiresAt?: number;
}

/** A session with its owner. */
export interface StoredSession extends ListedSession {
  /** Whose session it is; left out where it has no owner. */
  readonly owner?: string;
}

/** A session as `get` shows it. */
export function storedSession(details: SessionDetails): StoredSession {
  return { ...listedSession(details), ...(details.owner !== undefined && { owner: details.owner }) };
}

/** A session as a list shows it. */
export function listedSession({ sessionId, label, usage, tokens, expiresAt, ...rest }: SessionSummary): ListedSession {
  const { createdAt, updatedAt, messages, rounds } = rest;
  const sums = usage?.map(({ model, input, output, total }): [string, UsageSum] => [
    model,
    { input_tokens: input, output_tokens: output, total_tokens: total },
  ]);
  const names = isLocked(label) ? { metadata: {}, locked: true as const } : namesIn(label);
  return {
    ...{ sessionId, ...names, createdAt, updatedAt, messages, rounds },
    ...(tokens !== undefined && { tokens }),
    ...(sums && { usage: Object.fromEntries(sums) }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
