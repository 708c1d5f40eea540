import { summaryOf } from "../contract/session-ref.js";
import type {
  ErasedOwners,
  ListPlace,
  ListsReindex,
  SessionAccess,
  SessionDetails,
  SessionLists,
  SessionLabel,
  SessionsPage,
  SessionRef,
} from "../contract/session-ref.js";
import { detailsOf, setLabel, type InMemorySessions } from "./sessions.js";
import { noteKey, type InMemorySession } from "./session.js";

/** Lists of the sessions in memory, computed for each call and so always exact. */
export class InMemoryLists implements SessionLists {
  readonly #sessions: InMemorySessions;

  constructor(sessions: InMemorySessions) {
    this.#sessions = sessions;
  }

  async list(
    owner: string,
    { limit, before }: { readonly limit: number; readonly before?: ListPlace },
  ): Promise<SessionsPage> {
    return this.#sessions.callOfAll("listSessions", () => {
      const all = this.#of(owner).map(([member, session]) => ({ member, session, score: session.ownership.place }));
      const entries = all.filter((entry) => before === undefined || order(before, entry) < 0).sort(order);
      const page = entries.slice(0, limit);
      const { score, member } = page.at(-1) ?? { score: 0, member: "" };
      return {
        sessions: page.map(({ member: id, session }) => summaryOf(detailsOf(id, session))),
        ...(entries.length > limit && { next: { score, member } }),
      };
    });
  }

  async count(owner: string): Promise<number> {
    return this.#sessions.callOfAll("countSessions", () => this.#of(owner).length);
  }

  async describe(session: SessionRef): Promise<SessionDetails | undefined> {
    return this.#sessions.call("describeSession", session, () => {
      const stored = this.#sessions.find(session);
      return stored && detailsOf(session.id, stored);
    });
  }

  async relabel(
    session: SessionRef,
    { label, version }: { readonly label: SessionLabel; readonly version: string },
  ): Promise<"changed" | "stale" | "missing"> {
    return this.#sessions.call("relabel", session, () => {
      const stored = this.#sessions.writable("relabel", session, ["erased", "key"]);
      if (stored === undefined) {
        return "missing";
      }
      if (stored.ownership.labelVersion !== version) {
        return "stale";
      }
      noteKey(stored, session);
      setLabel(stored.ownership, label);
      return "changed";
    });
  }

  async erase(session: SessionRef, { guardMs }: { readonly guardMs: number }): Promise<boolean> {
    return this.#sessions.call("erase", session, () => {
      const stored = this.#sessions.find(session);
      this.#sessions.guard(session.id, guardMs);
      return stored !== undefined;
    });
  }

  async eraseOwners({ owners, guardMs, onProgress }: ErasedOwners): Promise<number> {
    return this.#sessions.callOfAll("eraseOwners", () => {
      const sessions = owners.flatMap((owner) => this.#of(owner));
      const announced = owners.flatMap((owner) => [...this.#sessions.announcedTo(owner)]);
      [...sessions.map(([sessionId]) => sessionId), ...announced].forEach((id) => this.#sessions.guard(id, guardMs));
      onProgress?.({ sessions: sessions.length });
      return sessions.length;
    });
  }

  async *scan({ owner }: SessionAccess = {}): AsyncGenerator<string> {
    const sessions = this.#sessions.callOfAll("scan", () =>
      owner === undefined ? [...this.#sessions.all()] : this.#of(owner),
    );
    for (const [sessionId] of sessions) {
      yield sessionId;
    }
  }

  async reindex({ onProgress }: ListsReindex = {}): Promise<number> {
    return this.#sessions.callOfAll("reindex", () => {
      const owned = [...this.#sessions.all()].filter(([, { ownership }]) => ownership.owner !== undefined);
      onProgress?.({ sessions: owned.length });
      return owned.length;
    });
  }

  async flush(): Promise<void> {
    // Lists are computed for each call: nothing is pending.
  }

  #of(owner: string): [string, InMemorySession][] {
    return [...this.#sessions.all()].filter(([, { ownership }]) => ownership.owner === owner);
  }
}

/** Newest first. */
function order(a: ListPlace, b: ListPlace): number {
  return b.score - a.score || (a.member < b.member ? 1 : a.member > b.member ? -1 : 0);
}
