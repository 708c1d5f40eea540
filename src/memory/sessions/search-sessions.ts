import { isDeepStrictEqual } from "node:util";
import { FirstOf } from "../../base/first-of.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { RecordError } from "../../base/errors.js";
import { decodeRecord, metaOf } from "../../store/codec/decode-record.js";
import { textOf } from "../../conversation/messages/content.js";
import { refuseLocked } from "../session/labels.js";
import { parseSealed } from "../../store/sealed/keys/header.js";
import type { SessionDetails } from "../../store/contract/lists.js";
import type { StoredPage } from "../../store/contract/session-pages.js";
import { concernsOneSession, leaveOut } from "./problems.js";
import {
  checkedSearch,
  searchCursor,
  type CheckedSearch,
  type FoundSession,
  type SearchedRole,
  type SearchMatch,
  type SearchPlace,
  type SessionSearch,
  type SessionSearchOptions,
} from "./search-requests.js";
import { storedSession } from "./stored-sessions.js";
import { foldedText, textFilter } from "./text-filter.js";
import type { SessionStore } from "../../store/contract/session-store.js";

/** Sessions of a page of a list, and of those of all owners that are read together. */
const listPage = 200;
/** Sessions of all owners that are sorted at a time. */
const sortedSessions = 10_000;
/** Sessions whose newest messages are read at a time. */
const readAhead = 8;
const pageMessages = 100;

type SearchedStore = Pick<SessionStore, "lists" | "data">;

/** Sessions in the order of the search, each with its place. */
interface Batch {
  readonly sessions: readonly SessionDetails[];
  placeOf(session: SessionDetails): SearchPlace;
}

/** Searches sessions; see `memory.sessions.search`. */
export async function searchSessions(
  store: SearchedStore,
  options: SessionSearchOptions,
  onEvent: MemoryEventHandler | undefined,
): Promise<SessionSearch> {
  const asked = checkedSearch(options);
  return new Search(store, asked, onEvent).run();
}

class Search {
  readonly #store: SearchedStore;
  readonly #asked: CheckedSearch;
  readonly #onEvent: MemoryEventHandler | undefined;
  readonly #mayShow: (record: string) => boolean;
  readonly #found: FoundSession[] = [];
  #searched = { sessions: 0, messages: 0, skipped: 0 };
  #end = Infinity;
  #place: SearchPlace;
  #reached: number | undefined;

  constructor(store: SearchedStore, asked: CheckedSearch, onEvent: MemoryEventHandler | undefined) {
    this.#store = store;
    this.#asked = asked;
    this.#onEvent = onEvent;
    this.#mayShow = textFilter(asked.text === undefined ? [] : [asked.text]);
    this.#place = asked.place ?? {};
  }

  async run(): Promise<SessionSearch> {
    const { owner, place } = this.#asked;
    if (place === null) {
      return this.#result("end");
    }
    const batches = owner === undefined ? this.#ofAll(place) : this.#ofOwner(owner, place);
    const stopped = (await this.#restOf(place)) ?? (await this.#runOver(batches));
    return this.#result(stopped ?? "end");
  }

  /** The session in whose middle the search before this one stopped. */
  async #restOf({ after, rest }: SearchPlace): Promise<SessionSearch["stopped"] | undefined> {
    if (after === undefined || rest === undefined) {
      return undefined;
    }
    this.#begin();
    const session = await this.#described(after);
    const { rest: _, ...behind } = this.#place;
    this.#place = behind;
    // A search without a text shows the session without reading it.
    const page = session === undefined || this.#asked.text === undefined ? undefined : this.#pageOf(session, rest);
    return session === undefined ? undefined : this.#look(session, behind, page);
  }

  async #runOver(batches: AsyncIterable<Batch>): Promise<SessionSearch["stopped"] | undefined> {
    for await (const { sessions, placeOf } of batches) {
      this.#begin();
      const candidates = sessions.filter((session) => this.#isCandidate(session));
      const pages = this.#pagesAhead(candidates);
      const wanted = new Set(candidates);
      for (const session of sessions) {
        const over = this.#found.length >= this.#asked.limit ? "limit" : wanted.has(session) && this.#exceeded();
        const stopped =
          over || (wanted.has(session) ? await this.#look(session, placeOf(session), pages()) : undefined);
        if (stopped) {
          return stopped;
        }
        this.#place = placeOf(session);
        this.#reached = session.updatedAt;
        this.#searched.sessions += 1;
      }
    }
    return undefined;
  }

  /** Time is counted from the first sessions on: a search of all owners has to find them first. */
  #begin(): void {
    this.#end = Math.min(this.#end, performance.now() + this.#asked.maxMs);
  }

  #exceeded(): "messages" | "time" | undefined {
    if (this.#searched.messages >= this.#asked.maxMessages) {
      return "messages";
    }
    return performance.now() >= this.#end ? "time" : undefined;
  }

  /** Reads a session's messages, newest first. Returns why the search stopped within it, and notes where. */
  async #look(
    session: SessionDetails,
    place: SearchPlace,
    newest: Promise<StoredPage | undefined> | undefined,
  ): Promise<SessionSearch["stopped"] | undefined> {
    const found = (match?: SearchMatch) => this.#found.push({ ...storedSession(session), ...(match && { match }) });
    if (this.#asked.text === undefined) {
      found();
      return undefined;
    }
    try {
      for (let page = await newest; page !== undefined && page.records.length > 0;) {
        this.#searched.messages += page.records.length;
        const match = this.#matchIn(page);
        if (match !== undefined) {
          found(match);
          return undefined;
        }
        if (page.from <= page.base) {
          return undefined;
        }
        const stopped = this.#exceeded();
        if (stopped !== undefined) {
          this.#place = { ...place, rest: page.from };
          this.#reached = session.updatedAt;
          return stopped;
        }
        page = await this.#pageOf(session, page.from);
      }
    } catch (error) {
      this.#leaveOut(session.sessionId, error);
    }
    return undefined;
  }

  /** The newest pages of sessions in turn, of which some are read ahead. */
  #pagesAhead(sessions: readonly SessionDetails[]): () => Promise<StoredPage | undefined> | undefined {
    if (this.#asked.text === undefined) {
      return () => undefined;
    }
    const pages: Promise<StoredPage | undefined>[] = [];
    let next = 0;
    return () => {
      next += 1;
      while (pages.length < Math.min(sessions.length, next + readAhead)) {
        const page = this.#pageOf(sessions[pages.length]!);
        // Awaited when its turn comes, or never.
        page.catch(() => undefined);
        pages.push(page);
      }
      return pages[next - 1];
    };
  }

  #pageOf({ sessionId }: SessionDetails, before?: number): Promise<StoredPage | undefined> {
    const { owner } = this.#asked;
    const session = { id: sessionId, ...(owner !== undefined && { owner }) };
    const limit = pageMessages;
    return this.#store.data.readPage(session, { limit, ...(before !== undefined && { before }) });
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
        const isSearched = this.#asked.roles.includes(message.getType() as SearchedRole);
        if (isSearched && foldedText(textOf(message)).includes(this.#asked.text!)) {
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

  /** By what its list says. */
  #isCandidate(session: SessionDetails): boolean {
    const { title, metadata, from, to } = this.#asked;
    const wanted = Object.entries(metadata);
    if (session.updatedAt < from || session.updatedAt >= to) {
      return false;
    }
    if (title === undefined && wanted.length === 0) {
      return true;
    }
    try {
      refuseLocked(session);
    } catch (error) {
      return this.#leaveOut(session.sessionId, error);
    }
    const stored = storedSession(session);
    return (
      (title === undefined || foldedText(stored.title ?? "").includes(title)) &&
      wanted.every(([key, value]) => key in stored.metadata && isDeepStrictEqual(stored.metadata[key], value))
    );
  }

  async *#ofOwner(owner: string, { page, after }: SearchPlace): AsyncGenerator<Batch> {
    for (let [before, passed] = [page, after]; ;) {
      const at = before === undefined ? {} : { page: before };
      const { sessions, next } = await this.#store.lists.list(owner, { limit: listPage, ...(before && { before }) });
      // Not found where that session was written since: what follows it may come again, and nothing is missed.
      const first = passed === undefined ? 0 : sessions.findIndex(({ sessionId }) => sessionId === passed) + 1;
      const details = sessions.slice(first).map((summary) => ({ ...summary, owner, labelVersion: "" }));
      yield { sessions: details, placeOf: ({ sessionId }) => ({ ...at, after: sessionId }) };
      if (next === undefined) {
        return;
      }
      [before, passed] = [next, undefined];
    }
  }

  /** All sessions, by last write, newest first. They are found by a scan again for each 10,000, and for each call. */
  async *#ofAll({ page, after = "" }: SearchPlace): AsyncGenerator<Batch> {
    const order = (a: Listed, b: Listed) => b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? -1 : 1);
    let last = page === undefined ? undefined : { updatedAt: page.score, sessionId: after };
    for (;;) {
      const newest = new FirstOf<SessionDetails>(sortedSessions, order);
      let count = 0;
      for await (const session of this.#scanned()) {
        if (last === undefined || (session.sessionId !== last.sessionId && order(last, session) < 0)) {
          newest.add(session);
          count += 1;
        }
      }
      const { items } = newest;
      const placeOf = ({ updatedAt, sessionId }: Listed) => ({
        page: { score: updatedAt, member: sessionId },
        after: sessionId,
      });
      for (let from = 0; from < items.length; from += listPage) {
        yield { sessions: items.slice(from, from + listPage), placeOf };
      }
      if (count <= items.length) {
        return;
      }
      last = items.at(-1)!;
    }
  }

  async *#scanned(): AsyncGenerator<SessionDetails> {
    let ids: string[] = [];
    const found = async () => {
      const details = await Promise.all(ids.map((id) => this.#described(id)));
      ids = [];
      return details.filter((session) => session !== undefined);
    };
    for await (const sessionId of this.#store.lists.scan()) {
      if (ids.push(sessionId) === listPage) {
        yield* await found();
      }
    }
    yield* await found();
  }

  async #described(id: string): Promise<SessionDetails | undefined> {
    const { owner } = this.#asked;
    try {
      return await this.#store.lists.describe({ id, ...(owner !== undefined && { owner }) });
    } catch (error) {
      this.#leaveOut(id, error);
      return undefined;
    }
  }

  #leaveOut(sessionId: string, error: unknown): false {
    if (!concernsOneSession(error)) {
      throw error;
    }
    this.#searched.skipped += 1;
    leaveOut({ onEvent: this.#onEvent }, { operation: "search", sessionId, error });
    return false;
  }

  #result(stopped: SessionSearch["stopped"]): SessionSearch {
    return {
      sessions: this.#found,
      next: stopped === "end" ? null : searchCursor(this.#place),
      stopped,
      ...(this.#reached !== undefined && { reached: this.#reached }),
      searched: { ...this.#searched },
    };
  }
}

type Listed = Pick<SessionDetails, "updatedAt" | "sessionId">;
