import { randomToken } from "../../base/ids.js";
import { type EachOf, withoutUndefined } from "../../base/options.js";
import { maxUsageModels, type ModelUsage, type SessionDetails, type SessionLabel } from "../contract/lists.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { NewRecord } from "../contract/session-writes.js";
import type { InMemorySession } from "./session.js";

/** Owner and label of a session. */
export interface InMemoryOwnership {
  owner: string | undefined;
  label: SessionLabel;
  labelVersion: string;
  /** Its score in lists: the microsecond of its last write. */
  place: number;
  readonly usage: Map<string, ModelUsage>;
}

/** The ownership of a new session. */
export function newOwnership(): InMemoryOwnership {
  return { owner: undefined, label: {}, labelVersion: "", place: 0, usage: new Map() };
}

/** Sets the writer as owner of a session without one, and the request's label for a session that never had one. */
export function claimSession({ ownership }: InMemorySession, { owner, label }: SessionRef): void {
  ownership.owner ??= owner;
  if (label !== undefined && ownership.labelVersion === "") {
    setLabel(ownership, label);
  }
}

/** Replaces a session's label. */
export function setLabel(ownership: InMemoryOwnership, label: SessionLabel): void {
  ownership.label = withoutUndefined(label);
  ownership.labelVersion = randomToken();
}

/** Adds the usage of new records to the totals of their models. */
export function countUsage({ ownership }: InMemorySession, fresh: readonly NewRecord[]): void {
  const { usage } = ownership;
  for (const { usage: added } of fresh) {
    if (added !== undefined) {
      const model = usage.has(added.model) || usage.size < maxUsageModels ? added.model : "other";
      const { input = 0, output = 0, total = 0 } = usage.get(model) ?? {};
      usage.set(model, {
        model,
        input: bounded(input + added.input),
        output: bounded(output + added.output),
        total: bounded(total + added.total),
      });
    }
  }
}

/** The details of a session. */
export function detailsOf(sessionId: string, session: InMemorySession): SessionDetails {
  const { owner, label, labelVersion, usage } = session.ownership;
  const { created: createdAt = 0, updated: updatedAt = createdAt } = session;
  const { log, rounds, total, key, expiresAt } = session;
  return withoutUndefined<EachOf<SessionDetails>>({
    ...{ sessionId, owner, label, labelVersion, createdAt, updatedAt, expiresAt, key },
    ...{ messages: log.length, rounds, tokens: total?.tokens, usage: usage.size > 0 ? [...usage.values()] : undefined },
  });
}

function bounded(amount: number): number {
  return Math.min(amount, Number.MAX_SAFE_INTEGER);
}
