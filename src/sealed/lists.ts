import type { KeyRing } from "./keys/key-ring.js";
import { sealField, sealedFieldParts } from "./keys/field.js";
import type { SessionKey } from "./keys/session-key.js";
import { EncryptionError } from "../base/errors.js";
import { passedOn } from "../store/groups.js";
import type { SessionDetails, SessionLists, SessionLabel, SessionsPage, SessionSummary } from "../store/lists.js";
import { SessionOpener } from "./session-opener.js";

const texts = ["title", "metadata"] as const;

/**
 * Lists of sessions whose titles and metadata are encrypted, each under its session's key; owners are not. A list
 * leaves sealed what cannot be opened; all other methods throw.
 */
export function sealedLists(inner: SessionLists, ring: KeyRing): SessionLists {
  const opened = async <Summary extends SessionSummary>(summary: Summary): Promise<Summary> => {
    const label = await openLabel(new SessionOpener(ring, summary.sessionId), summary.label);
    return { ...summary, label };
  };
  // One session whose key is missing must not hide the others: its texts stay sealed.
  const openedOrSealed = async (summary: SessionSummary): Promise<SessionSummary> => {
    try {
      return await opened(summary);
    } catch (error) {
      if (EncryptionError.isInstance(error)) {
        return summary;
      }
      throw error;
    }
  };
  return {
    ...passedOn("lists", inner),
    list: async (owner, request): Promise<SessionsPage> => {
      const page = await inner.list(owner, request);
      return { ...page, sessions: await Promise.all(page.sessions.map(openedOrSealed)) };
    },
    describe: async (session): Promise<SessionDetails | undefined> => {
      const details = await inner.describe(session);
      return details && opened(details);
    },
    relabel: async (session, request) => {
      const label = sealLabel(await ring.current(session.id), request.label);
      return inner.relabel(session, { ...request, label });
    },
  };
}

/** A label with sealed texts, each bound to its name. */
export function sealLabel(key: SessionKey | undefined, label: SessionLabel): SessionLabel {
  const sealed = (name: string, text: string) => (key === undefined ? text : sealField(key, name, text));
  return Object.fromEntries(
    texts.flatMap((name) => (label[name] === undefined ? [] : [[name, sealed(name, label[name])]])),
  ) as SessionLabel;
}

/** The label that was sealed. */
export async function openLabel(opener: SessionOpener, label: SessionLabel): Promise<SessionLabel> {
  const opened: Record<string, string> = {};
  for (const name of texts) {
    const text = label[name];
    if (text !== undefined) {
      opened[name] = await opener.field(name, text);
    }
  }
  return opened;
}

/** True for a label of which a text is not sealed with the key. */
export function needsSeal(key: SessionKey, label: SessionLabel): boolean {
  return texts.some((name) => label[name] !== undefined && sealedFieldParts(label[name])?.keyId !== key.id);
}
