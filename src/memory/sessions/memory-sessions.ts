import { maxTries, loadedOnce } from "../../base/bounds.js";
import * as z from "zod/mini";
import { ConfigurationError, ConflictError } from "../../base/errors.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { lazy, listener, parseOptions, positiveInteger, withoutUndefined } from "../../base/options.js";
import { defaultGuardMs, maxListLimit } from "../../store/contract/session-ref.js";
import type { ListsProgress, SessionAccess } from "../../store/contract/session-ref.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { isLabel } from "../../store/redis/item-records.js";
import type { ReencryptProgress } from "./reencrypt-sessions.js";
import type { SessionImportOptions, SessionImportSummary } from "./import-sessions.js";
import type { SessionSearch, SessionSearchOptions } from "./search-requests.js";
import { checkOwnerName, labelOf, namesIn, refuseLocked, type SessionNames } from "../session/identity.js";
import { cursorText, placeIn, leaveOut, listedSession, storedSession } from "./stored-sessions.js";
import type { SessionProblem, StoredSession } from "./stored-sessions.js";
import type {
  OwnerErasure,
  OwnerExportOptions,
  ReencryptOptions,
  ReindexOptions,
  SessionErasureOptions,
  SessionList,
  SessionListOptions,
} from "./requests.js";
import type { MemorySettings } from "../session/memory-context.js";

const defaultLimit = 30;

const accessSchema = lazy(() => z.strictObject({ owner: z.optional(z.unknown()) }));
const listSchema = lazy(() =>
  z.strictObject({
    owner: z.unknown(),
    limit: z._default(
      positiveInteger().check(z.maximum(maxListLimit, `must be at most ${maxListLimit}`)),
      defaultLimit,
    ),
    cursor: z.optional(z.unknown()),
  }),
);
const erasureSchema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    guardMs: z._default(positiveInteger(), defaultGuardMs),
    unlisted: z._default(z.boolean("must be true or false"), false),
    onProgress: z.optional(listener<ListsProgress>()),
  }),
);
const onProblem = lazy(() => z.optional(listener<SessionProblem>()));
const ownerExportSchema = lazy(() => z.strictObject({ onProblem: onProblem() }));
/** Listeners of a call that goes through all sessions; such calls are rare, so that each makes its schema. */
const batchSchema = <Progress>() =>
  z.strictObject({ onProgress: z.optional(listener<Progress>()), onProblem: onProblem() });

const reencryptSchema = lazy(() =>
  z.extend(batchSchema<ReencryptProgress>(), { dataKeys: z.optional(z.boolean("must be true or false")) }),
);

/** The sessions of a memory: lists by owner, titles, export, import, erasure and re-encryption. */
export class MemorySessions {
  readonly #store: SessionStore;
  readonly #onEvent: MemoryEventHandler | undefined;
  readonly #ownerNamespaces: MemorySettings["ownerNamespaces"];

  /** Constructed by the memory: `memory.sessions`. */
  constructor(store: SessionStore, onEvent?: MemoryEventHandler, ownerNamespaces?: MemorySettings["ownerNamespaces"]) {
    this.#store = store;
    this.#onEvent = onEvent;
    this.#ownerNamespaces = ownerNamespaces;
  }

  /**
   * Returns a page of an owner's sessions, by last write, newest first: 30 by default, at most 1,000. Two round trips,
   * however many sessions there are: the page, and its sessions as they are now. It may hold fewer than `limit`, as
   * sessions that have ended are left out. Cursor pagination without duplicates; a session written meanwhile moves to
   * the front. A session whose encryption key is missing is `locked`.
   *
   * @throws ConfigurationError `owner`, `limit`, `cursor`; StoreError.
   */
  async list(options: SessionListOptions): Promise<SessionList> {
    const { owner, limit, cursor } = parseOptions("sessions.list", listSchema(), options);
    checkOwnerName("sessions.list", owner);
    if (cursor === null) {
      return { sessions: [], next: null };
    }
    const before = cursor === undefined ? undefined : placeIn("sessions.list", cursor, { namesPage: true }).page;
    const page = await this.#store.lists.list(owner, withoutUndefined({ limit, before }));
    const next = page.next === undefined ? null : cursorText({ page: page.next });
    return { sessions: page.sessions.map(listedSession), next };
  }

  /**
   * Finds sessions by a text in their title or messages, last written first, also encrypted ones.
   *
   * No index is kept: the messages of each session are read, from the newest one back. A call begins no further session
   * once it has found `limit` or read `maxMessages` (20,000); `cursor` goes on from there. A session that is written
   * between two calls moves to the front. Without `owner` the sessions of all owners are searched, by their ids, and
   * each call scans all keys of Redis: for operators.
   *
   * @throws ConfigurationError, also for an `owner` that is given as undefined; StoreError.
   */
  async search(options: SessionSearchOptions): Promise<SessionSearch> {
    const { searchSessions } = await import("./search-sessions.js");
    return searchSessions(this.#store, options, this.#onEvent);
  }

  /**
   * Returns how many sessions an owner's list names, also some that have ended and were not looked at since: never too
   * few. One round trip.
   */
  async count(options: Pick<SessionListOptions, "owner">): Promise<number> {
    const { owner } = parseOptions("sessions.count", accessSchema(), options);
    checkOwnerName("sessions.count", owner);
    return this.#store.lists.count(owner);
  }

  /**
   * Returns a session with all of its metadata; undefined if it does not exist. One round trip.
   *
   * @throws EncryptionError if title or metadata are encrypted with a key that this process lacks.
   */
  async get(sessionId: string, options: SessionAccess = {}): Promise<StoredSession | undefined> {
    const details = await this.#store.lists.describe({ id: sessionId, ...accessOf("sessions.get", options) });
    if (details === undefined) {
      return undefined;
    }
    refuseLocked(details);
    return storedSession(details);
  }

  /**
   * Merges title and metadata: given keys replace, metadata keys that are `undefined` are removed, an empty title
   * removes the title. Compare-and-set: no concurrent update is lost. Returns the session; undefined if it does not
   * exist.
   *
   * @throws ConfigurationError `title`, `metadata`; ConflictError `other_owner`, or `stale` if others kept changing it;
   *   EncryptionError if they are encrypted with a key that this process lacks.
   */
  async update(
    sessionId: string,
    changes: SessionNames,
    options: SessionAccess = {},
  ): Promise<StoredSession | undefined> {
    const session = { id: sessionId, ...accessOf("sessions.update", options) };
    const lists = this.#store.lists;
    const { title, metadata = {} } = parseOptions("sessions.update", changesSchema(), changes) as SessionNames;
    labelOf("sessions.update", withoutUndefined({ title, metadata: withoutUndefined(metadata) }));
    for (let attempt = 1; attempt <= maxTries.write; attempt += 1) {
      const details = await lists.describe(session);
      if (details === undefined) {
        return undefined;
      }
      refuseLocked(details);
      const current = namesIn(details.label);
      const merged = withoutUndefined({ ...current.metadata, ...metadata });
      const label = labelOf("sessions.update", withoutUndefined({ title: title ?? current.title, metadata: merged }));
      const outcome = await lists.relabel(session, { label, version: details.labelVersion });
      if (outcome !== "stale") {
        return outcome === "missing" ? undefined : storedSession({ ...details, label });
      }
    }
    throw new ConflictError("sessions.update: other processes kept changing this session; try again.", {
      code: "stale",
      sessionId,
    });
  }

  /**
   * Deletes a session with all its data, its runs, and LangGraph's thread of the same id; returns false if there was
   * none of them. With an owner, only what names them or belongs to their session is deleted. For `guardMs` (ten
   * minutes by default) guards (tombstones that expire) refuse late writers with a StoreError `erased`, so that a run
   * under way does not recreate it. After `history.clear()` new turns, runs and threads may begin at once.
   */
  async delete(
    sessionId: string,
    options: SessionAccess & Pick<SessionErasureOptions, "guardMs"> = {},
  ): Promise<boolean> {
    const { owner, guardMs } = parseOptions("sessions.delete", erasureSchema(), options);
    const access = accessOf("sessions.delete", owner === undefined ? {} : { owner });
    return this.#store.lists.erase({ id: sessionId, ...access }, { guardMs });
  }

  /**
   * Erases the sessions in the lists of one or several owners, the threads and runs of the same ids, and the items of
   * long-term memory in the owners' namespaces (option `ownerNamespaces`), while others may write. For `guardMs` (ten
   * minutes by default; it must outlast this call and the longest turn) late writers cannot recreate sessions, threads
   * and runs, nor those that `clear()` ended a minute before. New sessions of the owner are allowed at once. Idempotent
   * and resumable. With the option `unlisted` it also erases threads, runs and sessions that no list names.
   */
  async deleteOwner(owner: string | readonly string[], options: SessionErasureOptions = {}): Promise<OwnerErasure> {
    const owners = [owner].flat();
    owners.forEach((name) => checkOwnerName("sessions.deleteOwner", name));
    const { guardMs, unlisted, onProgress } = parseOptions("sessions.deleteOwner", erasureSchema(), options);
    const spaces = owners.map((name) => namespacesOf(this.#ownerNamespaces, name));
    const namespaces = spaces.includes(undefined) ? undefined : spaces.flatMap((space) => space ?? []);
    const sessions = await this.#store.lists.eraseOwners({
      owners,
      guardMs,
      unlisted,
      ...(onProgress && { onProgress }),
    });
    // Last: whoever writes items beside a thread or a run has been refused by then.
    const { eraseItems } = await import("./item-lines.js");
    return { sessions, items: namespaces === undefined ? "not asked" : await eraseItems(this.#store, namespaces) };
  }

  /**
   * Exports a consistent snapshot of a session as JSON lines, read in pages and decrypted. Yields nothing for a missing
   * session.
   *
   * @throws EncryptionError if a key is missing; ConflictError `stale` if messages are removed meanwhile.
   */
  export(sessionId: string, options: SessionAccess = {}): AsyncIterable<string> {
    const session = { id: sessionId, ...accessOf("sessions.export", options) };
    return linesOf(async () => (await exporting()).exportSession(this.#store, session));
  }

  /**
   * Exports all sessions of an owner, and the LangGraph threads and items of long-term memory that `deleteOwner`
   * removes with `unlisted`, as JSON lines; items only with the memory's option `ownerNamespaces`. Scans all keys of
   * Redis. A session, thread or item that cannot be read (its key, or a part of it, is missing) is skipped with an
   * event `session_skipped`.
   *
   * @throws the error of the first skipped session, after the others; not with `onProblem`, which receives each.
   */
  exportOwner(owner: string, options: OwnerExportOptions = {}): AsyncIterable<string> {
    checkOwnerName("sessions.exportOwner", owner);
    const { onProblem } = parseOptions("sessions.exportOwner", ownerExportSchema(), options);
    const [store, { lists }] = [this.#store, this.#store];
    const namespaces = namespacesOf(this.#ownerNamespaces, owner) ?? [];
    const wanted = { lists, store, owner, namespaces, onProblem, onEvent: this.#onEvent };
    return linesOf(async () => (await exporting()).exportOwnerSessions(wanted));
  }

  /**
   * Imports the lines of `export` and `exportOwner` with ids, times, reductions, titles, usage, owners, threads and
   * items. A session becomes visible, atomically, after its last line. Idempotent: a session that exists with equal
   * content is not changed. Buffers at most 500 messages. Does not call `beforeStore`.
   *
   * @throws RecordError `corrupt` with the number of an invalid line; ConflictError `exists` for a session that exists
   *   with other content; StoreError, also `erased`. With `onProblem`, errors of single sessions are passed to it, and
   *   the others are imported.
   */
  async import(
    lines: AsyncIterable<string> | Iterable<string>,
    options: SessionImportOptions = {},
  ): Promise<SessionImportSummary> {
    const { importLines } = await import("./import-sessions.js");
    return importLines(this.#store, lines, options);
  }

  /**
   * Rebuilds all lists by scanning all keys of Redis, while others may write, and returns the number of sessions
   * with an owner. A session that cannot be read is reported by an event `session_skipped`, and passed to `onProblem`.
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    const { onProgress, onProblem } = parseOptions("sessions.reindex", batchSchema<ListsProgress>(), options);
    const listeners = { onProblem, onEvent: this.#onEvent };
    return this.#store.lists.reindex({
      onProgress,
      onProblem: (problem) => leaveOut(listeners, { operation: "reindex", ...problem }),
    });
  }

  /**
   * Wraps the data keys of sessions, LangGraph threads and items of long-term memory with the current key, and encrypts
   * their plain text, while others may write; with `dataKeys`, gives each session another data key. Scans all keys of
   * Redis. A session, thread or store of items that cannot be decrypted is counted in `failed`, reported by an event
   * `session_skipped`, and passed to `onProblem`. Runs are counted. Repeat it until `incomplete`, `failed` and `runs`
   * are 0.
   *
   * @throws ConfigurationError without a current key in the option `encryption`, but with `dataKeys`; StoreError.
   */
  async reencrypt(options: ReencryptOptions = {}): Promise<ReencryptProgress> {
    const { onProgress, onProblem, dataKeys } = parseOptions("sessions.reencrypt", reencryptSchema(), options);
    const lists = this.#store.lists;
    const listeners = { onProblem, onEvent: this.#onEvent };
    const { reencryptAll } = await import("./reencrypt-sessions.js");
    return reencryptAll(this.#store, { sessionIds: lists.scan(), onProgress, dataKeys, ...listeners });
  }
}

const exporting = loadedOnce(() => import("./export-session.js"));

/** The lines of an export, which begins with the first that is asked for. */
async function* linesOf(begin: () => Promise<AsyncIterable<string>>): AsyncGenerator<string> {
  yield* await begin();
}

const changesSchema = lazy(() =>
  z.strictObject({
    title: z.optional(z.unknown()),
    metadata: z.optional(z.record(z.string(), z.unknown(), "must be an object of JSON values")),
  }),
);

function accessOf(user: string, options: unknown): SessionAccess {
  const { owner } = parseOptions(user, accessSchema(), options);
  if (owner === undefined) {
    return {};
  }
  checkOwnerName(user, owner);
  return { owner };
}

/**
 * The namespaces of an owner; undefined where nobody says which they are.
 *
 * @throws ConfigurationError for an empty namespace, which would be everybody's, and for what is none.
 */
function namespacesOf(
  ownerNamespaces: MemorySettings["ownerNamespaces"],
  owner: string,
): readonly (readonly string[])[] | undefined {
  const namespaces: unknown = ownerNamespaces?.(owner);
  if (ownerNamespaces === undefined) {
    return undefined;
  }
  const isRight = (one: unknown) => Array.isArray(one) && one.length > 0 && one.every(isLabel);
  if (!Array.isArray(namespaces) || !namespaces.every(isRight)) {
    const sentence = 'Option "ownerNamespaces" must return namespaces: arrays of one or more labels each, which are';
    throw new ConfigurationError("ownerNamespaces", `${sentence} texts without periods, colons and NUL characters.`);
  }
  return namespaces as string[][];
}
