import type { SessionDetails, SessionSummary } from "./lists.js";

/** What a list shows of a session: the shorter form of its metadata, and nothing that all of its sessions share. */
export function listedSummary(details: SessionDetails): SessionSummary {
  const { sessionId, label, createdAt, updatedAt, messages, rounds, tokens, usage, expiresAt } = details;
  const { title, metadata, listed } = label;
  const shown = listed ?? metadata;
  return {
    sessionId,
    label: { ...(title !== undefined && { title }), ...(shown !== undefined && { metadata: shown }) },
    ...{ createdAt, updatedAt, messages, rounds },
    ...(tokens !== undefined && { tokens }),
    ...(usage !== undefined && { usage }),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}
