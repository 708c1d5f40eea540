import { allSessions } from "../../all-sessions.js";
import type { Server } from "../../server.js";
import type { SessionOrder, SessionRow, SessionRows } from "../model/data.js";
import { readableText } from "./readable-text.js";

/** Sessions that are looked through; what lies beyond is opened by its id. */
const mostSessions = 20_000;
/** To look through all keys again takes at most this share of the time. */
const shareOfTime = 0.05;
const shortestPause = 2_000;

/** A choice of sessions. */
interface Choice {
  /** A text that the id, the owner or the title holds. */
  readonly search: string;
  readonly limit: number;
  /** `damaged` or `locked`; empty for all. */
  readonly only: string;
  /** A {@link SessionOrder}; any other text is the default. @default "newest" */
  readonly order: string;
}

type Comparison = (a: SessionRow, b: SessionRow) => number;

const orders: Readonly<Record<Exclude<SessionOrder, "newest">, Comparison>> = {
  oldest: (a, b) => a.updatedAt - b.updatedAt,
  longest: (a, b) => b.messages - a.messages,
};

interface Catalogue {
  readonly rows: readonly SessionRow[];
  readonly complete: boolean;
}

/** All sessions, newest first, looked up again only while somebody asks. */
export class SessionCatalogue {
  readonly #server: Server;
  #catalogue: Catalogue | undefined;
  #reading: Promise<Catalogue> | undefined;
  #freshUntil = 0;

  constructor(server: Server) {
    this.#server = server;
  }

  /** The sessions of a choice. */
  async find({ search, limit, only, order }: Choice): Promise<SessionRows> {
    const { rows, complete } = await this.#current();
    const text = search.trim().toLowerCase();
    const isAsked = ({ damaged, locked }: SessionRow) =>
      only === "" || (only === "damaged" && damaged === true) || (only === "locked" && locked === true);
    const chosen = rows.filter((row) => isAsked(row) && wordsOf(row).includes(text));
    const matches = order === "oldest" || order === "longest" ? chosen.sort(orders[order]) : chosen;
    return { sessions: matches.slice(0, limit), matching: matches.length, known: rows.length, complete };
  }

  /** Changes when the list changes. */
  async version(): Promise<string> {
    const { rows } = await this.#current();
    const sum = rows.reduce((hash, { updatedAt, messages }) => (hash * 31 + updatedAt + messages) % 1e15, 7);
    return `${rows.length} ${sum}`;
  }

  async #current(): Promise<Catalogue> {
    if (this.#catalogue !== undefined && performance.now() < this.#freshUntil) {
      return this.#catalogue;
    }
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(): Promise<Catalogue> {
    const begun = performance.now();
    const rows: SessionRow[] = [];
    let complete = true;
    for await (const session of allSessions(this.#server)) {
      const { sessionId, owner, label, locked, damaged, messages, rounds, updatedAt } = session;
      if (rows.length === mostSessions) {
        complete = false;
        break;
      }
      const names = {
        ...(owner !== undefined && { owner: readableText(owner) }),
        ...(label.title !== undefined && { title: readableText(label.title) }),
      };
      rows.push({
        sessionId,
        ...names,
        ...(locked && { locked }),
        ...(damaged && { damaged }),
        messages,
        rounds,
        updatedAt,
      });
    }
    rows.sort((a, b) => b.updatedAt - a.updatedAt || (a.sessionId < b.sessionId ? -1 : 1));
    const now = performance.now();
    this.#freshUntil = now + Math.max(shortestPause, (now - begun) / shareOfTime);
    return (this.#catalogue = { rows, complete });
  }
}

function wordsOf({ sessionId, owner = "", title = "" }: SessionRow): string {
  return `${sessionId}\n${owner}\n${title}`.toLowerCase();
}
