import { EncryptionError } from "../../base/errors.js";
import type { SessionDetails, SessionLabel, SessionLists, SessionSummary } from "../contract/lists.js";
import type { Stored, WithTexts } from "../contract/stored-texts.js";
import { sealLabel } from "./sealed-calls.js";
import type { CallsOf } from "./store.js";

/**
 * Lists of sessions whose titles and metadata are encrypted, each under its session's key; owners are not. A list
 * leaves sealed what cannot be opened, and leaves out what is plain and refused; all other methods throw.
 */
export function sealedLists(inner: Stored<SessionLists>, callsOf: CallsOf): WithTexts<SessionLists> {
  const opened = async (session: Stored<SessionSummary>, owner: string | undefined): Promise<SessionSummary> => {
    const { key, ...summary } = session;
    const calls = callsOf({ id: summary.sessionId, ...(owner !== undefined && { owner }) });
    await calls.learn(key);
    return calls.opened<Omit<SessionSummary, "key">>(summary);
  };
  // One session whose key is missing must not hide the others: its texts stay sealed.
  const openedOrSealed = (session: Stored<SessionSummary>, owner: string): Promise<SessionSummary> =>
    opened(session, owner).catch((error: unknown) => {
      if (EncryptionError.isInstance(error)) {
        const label = error.code === "plain_text" ? {} : (session.label as unknown as SessionLabel);
        return { ...session, label };
      }
      throw error;
    });
  return {
    list: async (owner, request) => {
      const page = await inner.list(owner, request);
      return { ...page, sessions: await Promise.all(page.sessions.map((summary) => openedOrSealed(summary, owner))) };
    },
    describe: async ({ label: _, ...session }) => {
      const details = await inner.describe(session);
      return details && ((await opened(details, session.owner)) as SessionDetails);
    },
    relabel: (session, request) =>
      callsOf(session).write(
        (caller, key) => inner.relabel(caller, { ...request, label: sealLabel(key, request.label) }),
        (outcome) => outcome === "changed",
      ),
  };
}
