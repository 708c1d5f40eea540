import { useState } from "preact/hooks";
import type { FoundSessions } from "../model/data.js";
import { counted } from "../model/figures-in-words.js";
import { getJson } from "./api-client.js";
import { hashOf } from "./address.js";

/** Sessions in whose messages the words stand; asked for by a button, because messages are read for it. */
export function TextMatches({ text }: { text: string }) {
  const [isReading, setReading] = useState(false);
  const [found, setFound] = useState<FoundSessions>();
  const [said, setSaid] = useState<string>();
  if (text === "") {
    return null;
  }
  const ask = async () => {
    setReading(true);
    setSaid("Reading messages…");
    try {
      const part = await getJson<FoundSessions>("search", { text, ...(found?.next && { cursor: found.next }) });
      setFound({ ...part, sessions: [...(found?.sessions ?? []), ...part.sessions] });
      setSaid(wordsOf(part));
    } catch (error) {
      setSaid((error as Error).message);
    }
    setReading(false);
  };
  return (
    <section>
      {found !== undefined && <Matches found={found} text={text} />}
      {said !== undefined && (
        <p class="quiet" role="status">
          {said}
        </p>
      )}
      {!isReading && (found === undefined || found.next !== undefined) && (
        <button type="button" class="more" onClick={() => void ask()}>
          {found === undefined ? "Search in messages" : "Search on"}
        </button>
      )}
    </section>
  );
}

/** The session at its newest match, with the words to find the others. */
function linkTo({ sessionId, position }: FoundSessions["sessions"][number], text: string): string {
  const place = hashOf({ kind: "session", id: sessionId });
  return `${place}&find=${encodeURIComponent(text)}${position === undefined ? "" : `&message=${position}`}`;
}

function wordsOf({ searched: { sessions, messages, skipped } }: FoundSessions): string {
  const left = skipped === 0 ? "" : `; ${counted(skipped, "session")} could not be read`;
  return `Read ${counted(messages, "message")} of ${counted(sessions, "session")}${left}.`;
}

function Matches({ found: { sessions, next }, text }: { found: FoundSessions; text: string }) {
  return (
    <>
      <h2 class="owner">In messages</h2>
      {sessions.length === 0 && next === undefined && <p class="quiet">No message holds it.</p>}
      <ul class="session-items">
        {sessions.map(({ sessionId, title, position }) => (
          <li key={sessionId}>
            <a class="session" href={linkTo({ sessionId, ...(position !== undefined && { position }) }, text)}>
              <span class="session-name" dir="auto">
                {title ?? sessionId}
              </span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}
