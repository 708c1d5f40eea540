import * as z from "zod/mini";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import { lazy, nonEmptyText, nonNegativeInteger, parseOptions } from "../../base/options.js";
import { identifyRecord } from "../../store/codec/message-ids.js";
import { headIds } from "../session/screen-pages.js";
import type { SessionOfMemory } from "../session/memory-context.js";
import { withOwnerMark } from "../../store/contract/record-text.js";
import type { SessionRef } from "../../store/contract/session-ref.js";
import { copySession } from "./copy-session.js";

/** Range of a fork, and owner of the new session. */
export interface ForkOptions {
  /**
   * Number of messages to copy, counted from the first that was ever stored: the position of the first message that the
   * copy does not hold. 0 copies no messages. Refused where `retention` has discarded messages behind it. @default all
   */
  readonly at?: number;
  /** The new session's owner. @default the source's */
  readonly owner?: string;
  /** The new session's title. @default the source's */
  readonly title?: string;
}

const schema = lazy(() =>
  z.strictObject({
    at: z.optional(nonNegativeInteger()),
    owner: z.optional(nonEmptyText()),
    title: z.optional(nonEmptyText()),
  }),
);

/**
 * Copies a session under a new id.
 *
 * @throws ConfigurationError; ConflictError `exists`, `unknown_session`, `position` or `stale`; StoreError.
 */
export async function forkSession(
  { sessionId, ref, context }: SessionOfMemory,
  newSessionId: string,
  options: ForkOptions,
): Promise<void> {
  const { at, owner, title } = parseOptions("fork", schema(), options);
  if (typeof newSessionId !== "string" || newSessionId === "") {
    throw new ConfigurationError("newSessionId", "fork: the new session's id must be a non-empty string.");
  }
  const target: SessionRef = {
    id: newSessionId,
    ...(owner !== undefined && { owner }),
    ...(title !== undefined && { label: { title } }),
  };
  const forked = await copySession(context.store, {
    session: ref,
    target,
    ...(at !== undefined && { at }),
    ...(context.ttlMs !== undefined && { ttlMs: context.ttlMs }),
    identifyHead: headIds,
    copyRecord: (record) => ({
      record: owner === undefined ? record : withOwnerMark(record, owner),
      identity: identifyRecord(record),
    }),
  });
  if (forked === undefined) {
    const message = "fork(): there is no session to copy; it was never written to, cleared, or has expired.";
    throw new ConflictError(message, { code: "unknown_session", sessionId });
  }
}
