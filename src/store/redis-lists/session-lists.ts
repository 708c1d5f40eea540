import { BoundedMap } from "../../base/bounded-map.js";
import { randomToken } from "../../base/ids.js";
import { MemoryError, StoreError } from "../../base/errors.js";
import { sessionKeys } from "../redis/keys.js";
import { relabelSessionScript } from "../redis/lua/later-scripts.js";
import { scanSessions, type KeyScan } from "../redis/scan-keys.js";
import { askOf, runOnSession, type ScriptRunner } from "../redis/script-runner.js";
import type {
  ErasedOwners,
  ListPlace,
  ListsReindex,
  SessionAccess,
  SessionDetails,
  SessionLabel,
  SessionLists,
  SessionsPage,
} from "../contract/lists.js";
import type { SessionRef } from "../contract/session-ref.js";
import { capacity, keyOf, ListWrites, type WrittenSession } from "./list-writes.js";
import { eraseOwners, eraseSession } from "./owner-erasure.js";
import { OwnerLists, type OwnEntry } from "./owner-lists.js";
import { reindexSessions } from "./reindex-sessions.js";
import { StoredDetails } from "./stored-details.js";

/** How long an entry stays without its session, in milliseconds: longer than any write that it was sent in front of. */
const graceMs = 60_000;
/** Entries that are looked at when a session with an expiry enters a list: dead ones do not outnumber the others. */
const swept = 3;
/** Milliseconds until an entry that failed is sent again. */
const retryMs = 2_000;

/** A session that was created from elsewhere. */
export interface CreatedFrom<T> {
  readonly created: T;
  readonly owner: string | undefined;
  /** When it was last written, in milliseconds; undefined if that is now. */
  readonly updatedAt: number | undefined;
}

/**
 * Lists of sessions in Redis: for each owner a ZSET of ids and times in the owner's slot. A session is entered in front
 * of each of its writes, so that a list may name a session that has ended, and misses none that exists. A page is read
 * from the sessions; entries of ended ones are dropped when they are met.
 */
export class RedisLists implements Omit<SessionLists, "flush"> {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #lists: OwnerLists;
  readonly #details: StoredDetails;
  readonly #writes: ListWrites;
  readonly #aside: (work: Promise<unknown>) => void;
  /** Sessions that will be entered again. */
  readonly #failed = new BoundedMap<string, WrittenSession>(capacity);
  #timer: NodeJS.Timeout | undefined;

  /** `aside` takes work that nobody awaits. */
  constructor(runner: ScriptRunner, keyPrefix: string, aside: (work: Promise<unknown>) => void) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
    this.#lists = new OwnerLists(runner, keyPrefix);
    this.#details = new StoredDetails(runner, keyPrefix);
    this.#writes = new ListWrites(this.#lists, (owner) => aside(this.#sweep(owner)));
    this.#aside = aside;
  }

  async list(
    owner: string,
    { limit, before }: { readonly limit: number; readonly before?: ListPlace },
  ): Promise<SessionsPage> {
    for (let place = before; ;) {
      const { entries, next } = await this.#lists.page(owner, { limit, before: place });
      const { sessions, ended } = await this.#details.see(owner, entries);
      this.#aside(this.#lists.drop(owner, ended, graceMs));
      if (sessions.length > 0 || next === undefined) {
        return { sessions, ...(next && { next }) };
      }
      place = next;
    }
  }

  async count(owner: string): Promise<number> {
    return this.#lists.count(owner);
  }

  async describe(session: SessionRef): Promise<SessionDetails | undefined> {
    return this.#details.describe(session);
  }

  async relabel(
    session: SessionRef,
    { label, version }: { readonly label: SessionLabel; readonly version: string },
  ): Promise<"changed" | "stale" | "missing"> {
    const texts = [label.title, label.metadata].flatMap((text) => [text === undefined ? "0" : "1", text ?? ""]);
    const args = [JSON.stringify({ ...askOf(session), version, newVersion: randomToken() }), ...texts];
    const { ids, state } = sessionKeys(this.#keyPrefix, session.id);
    const call = { script: relabelSessionScript, keys: [ids, state], args, writes: true };
    const name = { operation: "relabel", sessionId: session.id };
    const [word] = (await runOnSession(this.#runner, name, call)) as [string];
    return word === "CHANGED" ? "changed" : word === "STALE" ? "stale" : "missing";
  }

  async erase({ id, owner }: SessionRef, { guardMs }: { readonly guardMs: number }): Promise<boolean> {
    const erased = await eraseSession(this.#scan(), id, { owner, guardMs, strict: false });
    const listedBy = erased.owner === "" ? owner : erased.owner;
    await (listedBy === undefined ? undefined : this.#lists.remove(listedBy, id).catch(() => undefined));
    return erased.existed;
  }

  async eraseOwners(erased: ErasedOwners): Promise<number> {
    const { guardMs } = erased;
    return eraseOwners({ ...this.#scan(), lists: this.#lists, guardMs }, erased);
  }

  scan({ owner }: SessionAccess = {}): AsyncIterable<string> {
    return scanSessions(this.#scan(), owner);
  }

  async reindex(listeners: ListsReindex = {}): Promise<number> {
    return reindexSessions({ ...listeners, scan: this.#scan(), lists: this.#lists, details: this.#details, graceMs });
  }

  /**
   * Enters a session in a list and makes the write, which is sent in the same tick. Where that is refused, or says that
   * the session is not the owner's, the entry is taken back.
   */
  async follow<T>(written: WrittenSession, write: () => Promise<T>, isStillOwners: () => boolean): Promise<T> {
    const entered = this.enter(written);
    let isOwners = true;
    try {
      const result = await write();
      isOwners = isStillOwners();
      return result;
    } catch (error) {
      isOwners = !/^(erased|other_owner|exists)$/.test(String(MemoryError.isInstance(error) ? error.code : ""));
      throw error;
    } finally {
      if (!isOwners) {
        this.#aside(entered.then((entry) => entry && this.#dropUnlessAlive(written.owner, entry)));
      }
    }
  }

  /** Enters a session in a list. Never fails: what failed is sent again. */
  enter(written: WrittenSession): Promise<OwnEntry | undefined> {
    const key = keyOf(written);
    const entered = this.#writes.enter(written).then(
      (entry) => {
        this.#failed.delete(key);
        return entry;
      },
      (error: unknown) => {
        if (!(StoreError.isInstance(error) && error.code === "closed")) {
          this.#failed.set(key, written);
          this.#timer ??= setTimeout(() => void this.#retry(), retryMs).unref();
        }
        return undefined;
      },
    );
    this.#aside(entered);
    return entered;
  }

  /** Sends again what failed, up to the first that fails again. */
  async #retry(): Promise<void> {
    this.#timer = undefined;
    for (const written of [...this.#failed.values()]) {
      if ((await this.enter(written)) === undefined) {
        return;
      }
    }
  }

  /** Creates a session that is entered before in the lists of all owners of its data, where an erasure finds it. */
  async create<T>(
    written: readonly WrittenSession[],
    finish: () => Promise<CreatedFrom<T> | undefined>,
  ): Promise<T | undefined> {
    const entries = await Promise.all(written.map((one) => this.#writes.enter(one)));
    try {
      const finished = await finish();
      const { owner, updatedAt } = finished ?? {};
      const sessionId = written[0]?.sessionId;
      if (owner !== undefined && sessionId !== undefined && updatedAt !== undefined) {
        await this.#lists.move(owner, sessionId, updatedAt * 1_000, "LT").catch(() => undefined);
      }
      return finished?.created;
    } finally {
      this.#aside(Promise.all(entries.map((entry, index) => this.#dropUnlessAlive(written[index]!.owner, entry))));
    }
  }

  async extended(written: WrittenSession): Promise<void> {
    await this.#writes.extend(written);
  }

  /** Looks at some entries, as a list that nobody reads would grow by all sessions that expire. */
  async #sweep(owner: string): Promise<void> {
    const { ended } = await this.#details.see(owner, await this.#lists.some(owner, swept));
    await this.#lists.drop(owner, ended, graceMs);
  }

  /** The entry goes only if no other write has made or moved it, whose session is yet to come. */
  async #dropUnlessAlive(owner: string, entry: OwnEntry): Promise<void> {
    const { ended, missing } = await this.#details.see(owner, [entry]);
    await this.#lists.drop(owner, entry.isNew || missing.length === 0 ? ended : [], 0);
  }

  #scan(): KeyScan {
    return { runner: this.#runner, keyPrefix: this.#keyPrefix };
  }
}
