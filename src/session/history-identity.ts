import * as z from "zod/mini";
import { lazy, parseOptions } from "../base/options.js";
import { requireGroup } from "../store/groups.js";
import type { SessionRef } from "../store/session-ref.js";
import type { MemoryContext } from "./memory-context.js";
import { checkOwnerName } from "./owner-name.js";
import { labelOf, type SessionMetadata, type SessionNames } from "./session-labels.js";

/** Whose a session is, and what it is called when it begins. */
export interface HistoryIdentity extends SessionNames {
  /**
   * Whose session it is, 1 to 512 bytes: a user's id. The first write claims a session that has no owner; every read
   * and write of another one's session fails with a ConflictError `other_owner`. @default none, and nothing is checked
   */
  readonly owner?: string;
  /** Given to a session that never had title or metadata; `memory.sessions.update` changes it. At most 1,000 bytes. */
  readonly title?: string;
  /** Given together with the title; an object of JSON values, at most 64 kB. */
  readonly metadata?: SessionMetadata;
}

const schema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    title: z.optional(z.unknown()),
    metadata: z.optional(z.unknown()),
  }),
);

/**
 * A session for one caller: all that is done with it is done for this owner.
 *
 * @throws ConfigurationError naming the option, or `store` for a store without an index.
 */
export function callerOf(
  sessionId: string,
  identity: HistoryIdentity,
  { store }: Pick<MemoryContext, "store">,
): Omit<SessionRef, "hold"> {
  const checked = parseOptions("history", schema(), identity) as HistoryIdentity;
  const { owner, title, metadata } = checked;
  if (owner === undefined && title === undefined && metadata === undefined) {
    return { id: sessionId };
  }
  if (owner !== undefined) {
    checkOwnerName("history", owner);
  }
  const label = labelOf("history", checked);
  const hasLabel = Object.keys(label).length > 0;
  requireGroup('history() with "owner", "title" or "metadata"', store, "lists");
  return { id: sessionId, ...(owner !== undefined && { owner }), ...(hasLabel && { label }) };
}
