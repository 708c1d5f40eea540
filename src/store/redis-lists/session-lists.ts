import { BoundedMap } from "../../base/bounds.js";
import { randomToken } from "../../base/ids.js";
import { MemoryError, StoreError } from "../../base/errors.js";
import { sessionKeys } from "../redis/keys.js";
import { relabelSessionScript } from "../redis/lua/later-scripts.js";
import { scanSessions, type KeyScan, scanKeys, type FoundSession } from "../redis/scan-keys.js";
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
  SessionRef,
} from "../contract/session-ref.js";
import { eraseOwners, eraseSession } from "./owner-erasure.js";
import { OwnerLists, type OwnEntry } from "./owner-lists.js";
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

/** The most sessions of which a process keeps something. */
const capacity = 10_000;
/** A list outlives what it was kept for by a fifth of the time to live: the half of it lets most writes go without. */
const kept = 1.2;
const needed = 1.1;

/** A session that is about to be written, and its owner. */
interface WrittenSession {
  readonly owner: string;
  readonly sessionId: string;
  /** Milliseconds that the session lives after the write; undefined for ever, 0 where the write leaves it as it is. */
  readonly ttlMs?: number | undefined;
}

/**
 * Enters sessions in their owners' lists, in front of their writes. The first time in a process, and once in a tenth of
 * a time to live, a script enters a session by the server's clock and keeps the list; in between a plain ZADD suffices.
 */
export class ListWrites {
  readonly #lists: OwnerLists;
  readonly #onKept: (owner: string) => void;
  /** Until when the list of an entry is kept, in milliseconds of `performance.now()`. */
  readonly #keptUntil = new BoundedMap<string, number>(capacity);
  /** The server's clock minus `performance.now()`, in milliseconds; known once a list is kept. */
  #offset = 0;
  #lastScore = 0;

  /** `onKept` is called when a list was kept for a session with an expiry. */
  constructor(lists: OwnerLists, onKept: (owner: string) => void) {
    this.#lists = lists;
    this.#onKept = onKept;
  }

  /** Enters a session, sent in this tick, and returns its entry. @throws StoreError. */
  async enter(written: WrittenSession): Promise<OwnEntry> {
    const { owner, sessionId } = written;
    if (!this.#isKept(written)) {
      return this.#keep(written, false);
    }
    const entry = await this.#lists.move(owner, sessionId, this.#nextScore());
    // A list that lost the entry may have ended, and be another one now that is kept for less.
    await (entry.isNew ? this.#keep(written, true) : undefined);
    return entry;
  }

  /** Keeps the list of a session whose expiry was extended; the session stays in its place. */
  async extend(written: WrittenSession): Promise<void> {
    await (this.#isKept(written) ? undefined : this.#keep(written, true));
  }

  #isKept(written: WrittenSession): boolean {
    const { ttlMs = Infinity } = written;
    return (this.#keptUntil.get(keyOf(written)) ?? -Infinity) >= performance.now() + needed * ttlMs;
  }

  async #keep(written: WrittenSession, keepsPlace: boolean): Promise<OwnEntry> {
    const { owner, sessionId, ttlMs } = written;
    const sent = performance.now();
    const entry = await this.#lists.enter(owner, sessionId, { ttlMs, keepsPlace });
    this.#offset = entry.score / 1_000 - performance.now();
    this.#lastScore = Math.max(this.#lastScore, entry.score);
    if (ttlMs !== 0) {
      this.#keptUntil.set(keyOf(written), ttlMs === undefined ? Infinity : sent + kept * ttlMs);
    }
    if (ttlMs !== undefined) {
      this.#onKept(owner);
    }
    return entry;
  }

  /** Grows with each write of this process, also with two of one microsecond. */
  #nextScore(): number {
    const now = Math.floor((performance.now() + this.#offset) * 1_000);
    this.#lastScore = Math.max(this.#lastScore + 1, now);
    return this.#lastScore;
  }
}

/** A name for the entry of a session, which no other has. */
function keyOf({ owner, sessionId }: WrittenSession): string {
  return `${Buffer.byteLength(owner)} ${owner} ${sessionId}`;
}

const pageLength = 100;

/** Context of a reindexing. */
interface Reindexing extends ListsReindex {
  readonly scan: KeyScan;
  readonly lists: OwnerLists;
  readonly details: StoredDetails;
  readonly graceMs: number;
}

/** Lists every session under its owner, and drops entries of ended ones. Returns the number of those with an owner. */
async function reindexSessions(reindexing: Reindexing): Promise<number> {
  const { scan, onProgress } = reindexing;
  const seen = new Set<string>();
  const owners = new Set<string>();
  for await (const page of scanKeys(scan)) {
    const fresh = page.sessions.filter(({ sessionId, owner }) => owner !== undefined && !seen.has(sessionId));
    fresh.forEach(({ sessionId }) => seen.add(sessionId));
    page.owners.forEach((owner) => owners.add(owner));
    for (let first = 0; first < fresh.length; first += pageLength) {
      await Promise.all(
        fresh.slice(first, first + pageLength).map((session) => enterUnlessRefused(session, reindexing)),
      );
      onProgress?.({ sessions: seen.size });
    }
  }
  for (const owner of owners) {
    await dropEnded(owner, reindexing);
  }
  return seen.size;
}

/** Enters a session by its last write. One that cannot be read is reported; one that lost its state comes last. */
async function enterUnlessRefused(
  { sessionId, owner }: FoundSession,
  { lists, details, onProblem }: Reindexing,
): Promise<void> {
  try {
    const session = await details.describe({ id: sessionId });
    const listedBy = session === undefined ? owner : session.owner;
    if (listedBy !== undefined) {
      const { updatedAt = 0, expiresAt } = session ?? {};
      // By the server's clock, so from the last write on.
      const ttlMs = expiresAt === undefined ? undefined : Math.max(0, expiresAt - updatedAt);
      await lists.enter(listedBy, sessionId, { ttlMs, keepsPlace: true, score: updatedAt * 1_000 });
    }
  } catch (error) {
    if (onProblem === undefined || !MemoryError.isInstance(error) || error.retryable) {
      throw error;
    }
    onProblem({ sessionId, error });
  }
}

async function dropEnded(owner: string, { lists, details, graceMs }: Reindexing): Promise<void> {
  let before: ListPlace | undefined;
  do {
    const { entries, next } = await lists.page(owner, { limit: pageLength, before });
    const { ended } = await details.see(owner, entries);
    await lists.drop(owner, ended, graceMs);
    before = next;
  } while (before !== undefined);
}
