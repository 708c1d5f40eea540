import { useEffect, useRef, useState } from "preact/hooks";
import { counted } from "../model/figures-in-words.js";
import { roleWords } from "./role-words.js";
import type { ShownMoment } from "./shown-moment.js";

/** Says to screen readers what was written while the session is open. */
export function LiveNews({ moment: { session, outline, base } }: { moment: ShownMoment }) {
  const end = useRef(session.next);
  const [news, setNews] = useState("");
  useEffect(() => {
    const added = session.next - end.current;
    end.current = session.next;
    if (added > 0) {
      const last = outline[session.next - 1 - base];
      setNews(
        `${counted(added, "new message")}${last === undefined ? "" : `, the last from: ${roleWords[last.role]}`}`,
      );
    } else if (added < 0) {
      setNews("Messages were removed from the end.");
    }
  }, [session, outline, base]);
  return (
    <p class="only-heard" role="log" aria-live="polite">
      {news}
    </p>
  );
}
