import type { MemoryEventHandler } from "../../base/events.js";
import { RecordError } from "../../base/errors.js";
import { decodeRecord, metaOf } from "../../store/codec/decode-record.js";
import { textOf } from "../../conversation/messages/content.js";
import { refuseLocked } from "../session/identity.js";
import { parseSealed } from "../../store/sealed/keys/session-key.js";
import type { SessionDetails, SessionRef } from "../../store/contract/session-ref.js";
import type { StoredPage } from "../../store/contract/session-data.js";
import { cursorText, type SearchPlace, concernsOneSession, leaveOut, storedSession } from "./stored-sessions.js";
import { checkedSearch, foldedText, textFilter } from "./search-requests.js";
import type {
  CheckedSearch,
  FoundSession,
  SearchedRole,
  SearchMatch,
  SessionSearch,
  SessionSearchOptions,
} from "./search-requests.js";
import type { SessionStore } from "../../store/contract/session-store.js";

/** Sessions of a page of a list. */
const listPage = 200;
/** Sessions of all owners that are sorted at a time. */
const sortedSessions = 10_000;
/** Sessions that are searched at a time. */
const searchedAtOnce = 8;
const pageMessages = 100;

type SearchedStore = Pick<SessionStore, "lists" | "data">;

/** A session to search; one of all owners is described then. */
type Candidate = Pick<SessionDetails, "sessionId"> & { readonly details?: SessionDetails };

/** Sessions in the order of the search; `next` is the place of those behind them. */
interface Batch {
  readonly sessions: readonly Candidate[];
  readonly next: SearchPlace | null;
}

/** Searches sessions; see `memory.sessions.search`. */
export async function searchSessions(
  store: SearchedStore,
  options: SessionSearchOptions,
  onEvent: MemoryEventHandler | undefined,
): Promise<SessionSearch> {
  return new Search(store, checkedSearch(options), onEvent).run();
}

class Search {
  readonly #store: SearchedStore;
  readonly #search: CheckedSearch;
  readonly #onEvent: MemoryEventHandler | undefined;
  readonly #mayShow: (record: string) => boolean;
  readonly #searched = { sessions: 0, messages: 0, skipped: 0 };

  constructor(store: SearchedStore, search: CheckedSearch, onEvent: MemoryEventHandler | undefined) {
    this.#store = store;
    this.#search = search;
    this.#onEvent = onEvent;
    this.#mayShow = textFilter([search.text]);
  }

  async run(): Promise<SessionSearch> {
    const { owner, limit, maxMessages } = this.#search;
    const sessions: FoundSession[] = [];
    for (let { place } = this.#search; place !== null;) {
      const batch: Batch = await (owner === undefined ? this.#ofAll(place) : this.#ofOwner(owner, place));
      for (let from = 0; from < batch.sessions.length;) {
        if (sessions.length >= limit || this.#searched.messages >= maxMessages) {
          return { sessions, next: cursorText(place), searched: this.#searched };
        }
        const together = batch.sessions.slice(from, from + Math.min(searchedAtOnce, limit - sessions.length));
        const results = await Promise.all(together.map((session) => this.#find(session)));
        sessions.push(...results.filter((session) => session !== undefined));
        this.#searched.sessions += together.length;
        from += together.length;
        place = { ...place, after: together.at(-1)!.sessionId };
      }
      place = batch.next;
    }
    return { sessions, next: null, searched: this.#searched };
  }

  /** The session if its title or a message contains the text. */
  async #find({ sessionId, ...known }: Candidate): Promise<FoundSession | undefined> {
    try {
      const details = known.details ?? (await this.#store.lists.describe({ id: sessionId }));
      if (details === undefined) {
        return undefined;
      }
      refuseLocked(details);
      const match = await this.#newestMatch(sessionId);
      const stored = storedSession(details);
      const isFound = match !== undefined || foldedText(stored.title ?? "").includes(this.#search.text);
      return isFound ? { ...stored, ...(match && { match }) } : undefined;
    } catch (error) {
      return this.#leaveOut(sessionId, error);
    }
  }

  async #newestMatch(sessionId: string): Promise<SearchMatch | undefined> {
    const { maxMessages } = this.#search;
    let before: number | undefined;
    for (let read = 0; read < maxMessages;) {
      const request = { limit: pageMessages, ...(before !== undefined && { before }) };
      const page = await this.#store.data.readPage(this.#refOf(sessionId), request);
      const match = page && this.#matchIn(page);
      read += page?.records.length ?? 0;
      this.#searched.messages += page?.records.length ?? 0;
      if (match !== undefined || page === undefined || page.from <= page.base) {
        return match;
      }
      before = page.from;
    }
    return undefined;
  }

  #refOf(id: string): SessionRef {
    const { owner } = this.#search;
    return { id, ...(owner !== undefined && { owner }) };
  }

  /** The newest message of a page that contains the text. Records that cannot be read are passed over. */
  #matchIn({ records, from }: StoredPage): SearchMatch | undefined {
    for (let index = records.length - 1; index >= 0; index -= 1) {
      const record = records[index]!;
      if (!this.#mayShow(record) && parseSealed(record) === undefined) {
        continue;
      }
      try {
        const { message } = decodeRecord(record, from + index);
        const isSearched = this.#search.roles.includes(message.getType() as SearchedRole);
        if (isSearched && foldedText(textOf(message)).includes(this.#search.text)) {
          const { at } = metaOf(record);
          return { position: from + index, ...(at !== undefined && { at }), message };
        }
      } catch (error) {
        if (!RecordError.isInstance(error)) {
          throw error;
        }
      }
    }
    return undefined;
  }

  async #ofOwner(owner: string, { page, after }: SearchPlace): Promise<Batch> {
    const { sessions, next } = await this.#store.lists.list(owner, { limit: listPage, ...(page && { before: page }) });
    // Not found where that session was written since: what follows it may come again, and nothing is missed.
    const first = after === undefined ? 0 : sessions.findIndex(({ sessionId }) => sessionId === after) + 1;
    return {
      sessions: sessions.slice(first).map((summary) => {
        return { sessionId: summary.sessionId, details: { ...summary, owner, labelVersion: "" } };
      }),
      next: next === undefined ? null : { page: next },
    };
  }

  /** All sessions, by their ids. Each time they are found by a scan of all keys. */
  async #ofAll({ after = "" }: SearchPlace): Promise<Batch> {
    let [ids, isMore]: [string[], boolean] = [[], false];
    for await (const id of this.#store.lists.scan()) {
      if (id > after && ids.push(id) === 2 * sortedSessions) {
        [ids, isMore] = [ids.sort().slice(0, sortedSessions), true];
      }
    }
    const sessions = ids.sort().slice(0, sortedSessions);
    const last = isMore || ids.length > sessions.length ? sessions.at(-1) : undefined;
    return {
      sessions: sessions.map((sessionId) => ({ sessionId })),
      next: last === undefined ? null : { after: last },
    };
  }

  #leaveOut(sessionId: string, error: unknown): undefined {
    if (!concernsOneSession(error)) {
      throw error;
    }
    this.#searched.skipped += 1;
    leaveOut({ onEvent: this.#onEvent }, { operation: "search", sessionId, error });
  }
}
