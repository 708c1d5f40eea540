import { EncryptionError } from "../../base/errors.js";
import { passedOn } from "../contract/groups.js";
import type { SessionDetails, SessionLists, SessionLabel, SessionsPage, SessionSummary } from "../contract/lists.js";
import { labelTexts, sealLabel, type SealedCalls } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";

/**
 * Lists of sessions whose titles and metadata are encrypted, each under its session's key; owners are not. A list
 * leaves sealed what cannot be opened, and leaves out what is plain and refused; all other methods throw.
 */
export function sealedLists(inner: SessionLists, callsOf: CallsOf): SessionLists {
  const opened = async <Summary extends SessionSummary>({ key, ...summary }: Summary, owner: string | undefined) => {
    const calls = callsOf({ id: summary.sessionId, ...(owner !== undefined && { owner }) });
    if (key !== undefined) {
      calls.learn(key);
    }
    return { ...summary, label: await openLabel(calls, summary.label) };
  };
  // One session whose key is missing must not hide the others: its texts stay sealed.
  const openedOrSealed = async (summary: SessionSummary, owner: string): Promise<SessionSummary> => {
    try {
      return await opened(summary, owner);
    } catch (error) {
      if (EncryptionError.isInstance(error)) {
        return error.code === "plain_text" ? { ...summary, label: {} } : summary;
      }
      throw error;
    }
  };
  return {
    ...passedOn(inner, ["count", "erase", "eraseOwner", "scan", "reindex", "flush"]),
    list: async (owner, request): Promise<SessionsPage> => {
      const page = await inner.list(owner, request);
      return { ...page, sessions: await Promise.all(page.sessions.map((summary) => openedOrSealed(summary, owner))) };
    },
    describe: async (session): Promise<SessionDetails | undefined> => {
      const details = await inner.describe(session);
      return details && opened(details, session.owner);
    },
    relabel: async (session, request) =>
      callsOf(session).write(
        (caller, key) => inner.relabel(caller, { ...request, label: sealLabel(key, request.label) }),
        (outcome) => outcome === "changed",
      ),
  };
}

/** The label that was sealed. */
export async function openLabel(calls: SealedCalls, label: SessionLabel): Promise<SessionLabel> {
  const opened: Record<string, string> = {};
  for (const name of labelTexts) {
    const text = label[name];
    if (text !== undefined) {
      opened[name] = await calls.field(name, text);
    }
  }
  return opened;
}
