import { encodeSessionId } from "../session-id-rules.js";

/** The prefix of all keys by default. */
export const defaultKeyPrefix = "lcmem";

/** Names of the keys of one session; all lie in one hash slot. */
export interface SessionKeys {
  /** LIST: the records, oldest first. */
  readonly log: string;
  /** HASH: hash of a message id → digest and position. */
  readonly ids: string;
  /** HASH: everything else that is kept about the session. */
  readonly state: string;
  /** STRING: the token of the process that is summarizing this session. */
  readonly lease: string;
  /** STRING: the token of the run whose turn it is. */
  readonly turn: string;
}

/** The keys of a session. This is the only place where names of keys are made. */
export function sessionKeys(keyPrefix: string, sessionId: string): SessionKeys {
  const session = `${keyPrefix}:{${encodeSessionId(sessionId)}}`;
  const part = (name: string) => `${session}:${name}`;
  return { log: part("log"), ids: part("ids"), state: part("state"), lease: part("lease"), turn: part("turn") };
}

/** What is wrong with a key prefix, as the end of a sentence; undefined for a good one. */
export function keyPrefixIssue(keyPrefix: string): string | undefined {
  if (keyPrefix === "") {
    return "must not be empty";
  }
  if (/[{}]/.test(keyPrefix)) {
    return "must not contain braces, which would put all sessions into one slot of a cluster";
  }
  return /[\s\p{Cc}\p{Cf}]/u.test(keyPrefix) ? "must not contain white space or control characters" : undefined;
}
