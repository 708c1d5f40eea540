import { useEffect, useState } from "preact/hooks";
import { counted, whole } from "../model/figures-in-words.js";
import type { SessionOrder, SessionRow, SessionRows } from "../model/data.js";
import { hashOf, type OpenPlace } from "./address.js";
import { getJson } from "./api-client.js";
import { Second } from "./second.js";
import { TextMatches } from "./text-matches.js";
import { ThreadList } from "./thread-list.js";

const pageLength = 100;

/** Properties of the list. */
interface SessionListProps {
  readonly open: OpenPlace | undefined;
  readonly onOpen: (sessionId: string) => void;
  /** Changes when sessions changed. */
  readonly version: number;
}

/** The sessions of all owners in one order, with a search. */
export function SessionList({ open, onOpen, version }: SessionListProps) {
  const [search, setSearch] = useState("");
  const words = search.trim();
  const [only, setOnly] = useState("");
  const [order, setOrder] = useState<SessionOrder>("newest");
  const [limit, setLimit] = useState(pageLength);
  const { rows, problem } = useSessionRows({ search, only, order, limit, version });
  const [openSession, openThread] = open?.kind === "thread" ? [undefined, open.id] : [open?.id, undefined];
  return (
    <>
      <SearchField search={search} onSearch={setSearch} />
      <div class="choices">
        <KindField only={only} onOnly={setOnly} />
        <OrderField order={order} onOrder={setOrder} />
      </div>
      <p class="quiet" role="status">
        {problem ?? (rows === undefined ? "Looking for sessions…" : foundWords(rows, order))}
      </p>
      <div class="session-scroll" onKeyDown={moveInList}>
        <ul class="session-items">
          {rows?.sessions.map((session) => (
            <SessionItem key={session.sessionId} session={session} open={openSession} />
          ))}
        </ul>
        {rows && rows.matching > rows.sessions.length && (
          <button type="button" class="more" onClick={() => setLimit(limit + pageLength)}>
            Show more sessions
          </button>
        )}
        {rows && rows.matching === 0 && words !== "" && (
          <button type="button" class="more" onClick={() => onOpen(words)}>
            Open the session with this id
          </button>
        )}
        <TextMatches key={words} text={words} />
        {only === "" && <ThreadList open={openThread} search={search} version={version} />}
      </div>
    </>
  );
}

function SearchField({ search, onSearch }: { search: string; onSearch: (search: string) => void }) {
  return (
    <label class="field">
      <span>Search owner, title or id</span>
      <input
        type="search"
        value={search}
        onInput={(event) => onSearch(event.currentTarget.value)}
        onKeyDown={(event) => event.key === "ArrowDown" && focusNext(event, -1)}
      />
    </label>
  );
}

function KindField({ only, onOnly }: { only: string; onOnly: (only: string) => void }) {
  return (
    <label class="field">
      <span>Which sessions</span>
      <select value={only} onChange={({ currentTarget }) => onOnly(currentTarget.value)}>
        <option value="">All</option>
        <option value="damaged">Damaged: Redis lost a part</option>
        <option value="locked">Encrypted, without its key</option>
      </select>
    </label>
  );
}

const orderWords: Readonly<Record<SessionOrder, string>> = {
  newest: "newest first",
  oldest: "oldest first",
  longest: "longest first",
};

function OrderField({ order, onOrder }: { order: SessionOrder; onOrder: (order: SessionOrder) => void }) {
  return (
    <label class="field">
      <span>Order</span>
      <select value={order} onChange={({ currentTarget }) => onOrder(currentTarget.value as SessionOrder)}>
        {Object.entries(orderWords).map(([value, words]) => (
          <option key={value} value={value}>
            {words}
          </option>
        ))}
      </select>
    </label>
  );
}

interface Asked {
  readonly search: string;
  readonly only: string;
  readonly order: SessionOrder;
  readonly limit: number;
  readonly version: number;
}

function useSessionRows({ search, only, order, limit, version }: Asked) {
  const [result, setResult] = useState<{ rows?: SessionRows; problem?: string }>({});
  useEffect(() => {
    let isLast = true;
    getJson<SessionRows>("sessions", { search, only, order, limit }).then(
      (rows) => isLast && setResult({ rows }),
      (error: Error) => isLast && setResult(({ rows }) => ({ ...(rows && { rows }), problem: error.message })),
    );
    return () => {
      isLast = false;
    };
  }, [search, only, order, limit, version]);
  return result;
}

function foundWords({ sessions, matching, known, complete }: SessionRows, order: SessionOrder): string {
  const shown = matching > sessions.length ? `${whole(sessions.length)} of ${whole(matching)}` : whole(matching);
  const all = complete ? "" : `; only ${whole(known)} were looked through, others open by their id`;
  return known === 0
    ? "No session was found. Check --prefix."
    : `${shown}${matching === 1 ? " session" : ` sessions, ${orderWords[order]}`}${all}`;
}

function SessionItem({ session, open }: { session: SessionRow; open: string | undefined }) {
  const isOpen = session.sessionId === open;
  const { sessionId, owner, title, locked, damaged, messages, rounds, updatedAt } = session;
  return (
    <li>
      <a class="session" href={hashOf({ kind: "session", id: sessionId })} aria-current={isOpen ? "page" : undefined}>
        <span class="session-name" dir="auto">
          {title ?? sessionId}
        </span>
        {title !== undefined && (
          <span class="session-id" dir="auto">
            {sessionId}
          </span>
        )}
        <span class="quiet">
          {owner !== undefined && <bdi>{owner} · </bdi>}
          {locked === true ? "encrypted · " : ""}
          {damaged === true && <strong class="damaged">damaged · </strong>}
          {counted(messages, "message")} · {counted(rounds, "round")}
          {updatedAt > 0 && (
            <>
              {" · "}
              <Second at={updatedAt} />
            </>
          )}
        </span>
      </a>
      {open !== undefined && !isOpen && (
        <a
          class="session-beside"
          href={hashOf({ kind: "session", id: open, beside: sessionId })}
          aria-label={`Compare ${title ?? sessionId} with the open session`}
        >
          Compare
        </a>
      )}
    </li>
  );
}

/** The arrow keys go from session to session. */
function moveInList(event: KeyboardEvent): void {
  const links = sessionLinks();
  const index = links.indexOf(document.activeElement as HTMLElement);
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    focusNext(event, event.key === "ArrowDown" ? index : index - 2);
  } else if (event.key === "Home" || event.key === "End") {
    focusNext(event, event.key === "Home" ? -1 : links.length - 2);
  }
}

function focusNext(event: Event, index: number): void {
  event.preventDefault();
  sessionLinks()[index + 1]?.focus();
}

function sessionLinks(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(".session")];
}
