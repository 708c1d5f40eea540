import { useEffect, useState } from "preact/hooks";
import { counted } from "../model/figures-in-words.js";
import type { ThreadRow, ThreadRows } from "../model/threads.js";
import { getJson } from "./api-client.js";
import { hashOf } from "./address.js";

const pageLength = 100;

interface ThreadListProps {
  readonly open: string | undefined;
  readonly search: string;
  /** Changes when the list is to be read again. */
  readonly version: number;
}

/** The LangGraph threads that match, below the sessions; nothing where there are none. */
export function ThreadList({ open, search, version }: ThreadListProps) {
  const [limit, setLimit] = useState(pageLength);
  const rows = useThreadRows({ search, limit, version });
  if (rows === undefined || rows.matching === 0) {
    return null;
  }
  return (
    <section>
      <h2 class="owner">LangGraph threads</h2>
      <ul class="session-items">
        {rows.threads.map((thread) => (
          <ThreadItem key={thread.threadId} thread={thread} isOpen={thread.threadId === open} />
        ))}
      </ul>
      {rows.matching > rows.threads.length && (
        <button type="button" class="more" onClick={() => setLimit(limit + pageLength)}>
          Show more threads
        </button>
      )}
    </section>
  );
}

function ThreadItem({ thread: { threadId, checkpoints, damaged }, isOpen }: { thread: ThreadRow; isOpen: boolean }) {
  return (
    <li>
      <a class="session" href={hashOf({ kind: "thread", id: threadId })} aria-current={isOpen ? "page" : undefined}>
        <span class="session-name" dir="auto">
          {threadId}
        </span>
        <span class="quiet">
          {damaged === true && <strong class="damaged">damaged · </strong>}
          {counted(checkpoints, "checkpoint")}
        </span>
      </a>
    </li>
  );
}

function useThreadRows({ search, limit, version }: { search: string; limit: number; version: number }) {
  const [rows, setRows] = useState<ThreadRows>();
  useEffect(() => {
    let isLast = true;
    // If threads cannot be listed, sessions cannot either, and their list says why.
    getJson<ThreadRows>("threads", { search, limit }).then(
      (answer) => isLast && setRows(answer),
      () => undefined,
    );
    return () => {
      isLast = false;
    };
  }, [search, limit, version]);
  return rows;
}
