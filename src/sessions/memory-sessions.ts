import { maxTries } from "../base/tries.js";
import * as z from "zod/mini";
import { ConflictError } from "../base/errors.js";
import type { MemoryEventHandler } from "../base/events.js";
import { anyFunction, lazy, parseOptions, positiveInteger } from "../base/options.js";
import { requireGroup } from "../store/groups.js";
import { maxListLimit, type ListsProgress, type SessionAccess, type SessionLists } from "../store/lists.js";
import type { SessionStore } from "../store/session-store.js";
import { reencryptSessions, type ReencryptProgress } from "./reencrypt-sessions.js";
import { exportOwnerSessions, exportSession } from "./export-session.js";
import { importLines, type SessionImportOptions, type SessionImportSummary } from "./import-lines.js";
import { checkOwnerName } from "../session/identity.js";
import { cursorText, placeIn } from "./session-cursor.js";
import { labelOf, namesIn, refuseLocked, type SessionMetadata, type SessionNames } from "../session/session-labels.js";
import type {
  OwnerExportOptions,
  ReencryptOptions,
  ReindexOptions,
  SessionErasureOptions,
  SessionList,
  SessionListOptions,
} from "./session-requests.js";
import type { SessionProblem } from "./session-problems.js";
import { listedSession, storedSession, type StoredSession } from "./stored-sessions.js";

const defaultLimit = 30;
const defaultGuardMs = 600_000;

const accessSchema = lazy(() => z.strictObject({ owner: z.optional(z.unknown()) }));
const listSchema = lazy(() =>
  z.strictObject({
    owner: z.unknown(),
    limit: z._default(
      positiveInteger().check(z.maximum(maxListLimit, `must be at most ${maxListLimit}`)),
      defaultLimit,
    ),
    cursor: z.optional(z.unknown()),
    verify: z.optional(z.boolean("must be true or false")),
  }),
);
const erasureSchema = lazy(() =>
  z.strictObject({
    owner: z.optional(z.unknown()),
    guardMs: z._default(positiveInteger(), defaultGuardMs),
    onProgress: z.optional(anyFunction<(progress: ListsProgress) => void>()),
  }),
);
const reencryptSchema = lazy(() =>
  z.strictObject({
    onProgress: z.optional(anyFunction<(progress: ReencryptProgress) => void>()),
    onProblem: z.optional(anyFunction<(problem: SessionProblem) => void>()),
  }),
);
const ownerExportSchema = lazy(() =>
  z.strictObject({ onProblem: z.optional(anyFunction<(problem: SessionProblem) => void>()) }),
);

/** The sessions of a memory: lists by owner, titles, export, import, erasure and re-encryption. */
export class MemorySessions {
  readonly #store: SessionStore;
  readonly #onEvent: MemoryEventHandler | undefined;

  /** The memory makes it: `memory.sessions`. */
  constructor(store: SessionStore, onEvent?: MemoryEventHandler) {
    this.#store = store;
    this.#onEvent = onEvent;
  }

  /**
   * A page of an owner's sessions, newest first by their last write: 30 by default, at most 1,000. One round trip,
   * however many sessions there are. No session comes twice in one walk; one that is written meanwhile moves to the
   * front. What another process wrote may be missing for a second; `verify: true` looks at each session of the page
   * (one more wait) and repairs what disagrees. A session whose key this process lacks is listed as `locked`.
   *
   * @throws ConfigurationError `owner`, `limit`, `cursor`; StoreError.
   */
  async list(options: SessionListOptions): Promise<SessionList> {
    const { owner, limit, cursor, verify } = parseOptions("sessions.list", listSchema(), options);
    checkOwnerName("sessions.list", owner);
    if (cursor === null) {
      return { sessions: [], next: null };
    }
    const before = cursor === undefined ? undefined : placeIn(cursor);
    const page = await this.#lists("list").list(owner, {
      limit,
      ...(before !== undefined && { before }),
      ...(verify !== undefined && { verify }),
    });
    const next = page.next === undefined ? null : cursorText(page.next);
    return { sessions: page.sessions.map(listedSession), next };
  }

  /** The number of an owner's sessions. One round trip. */
  async count(options: Pick<SessionListOptions, "owner">): Promise<number> {
    const { owner } = parseOptions("sessions.count", accessSchema(), options);
    checkOwnerName("sessions.count", owner);
    return this.#lists("count").count(owner);
  }

  /**
   * A session with all of its metadata; undefined for one that does not exist. One round trip.
   *
   * @throws EncryptionError where title or metadata are encrypted with a key that this process does not have.
   */
  async get(sessionId: string, options: SessionAccess = {}): Promise<StoredSession | undefined> {
    const details = await this.#lists("get").describe({ id: sessionId, ...accessOf("sessions.get", options) });
    if (details === undefined) {
      return undefined;
    }
    refuseLocked(sessionId, details.label);
    return storedSession(details);
  }

  /**
   * Changes title and metadata: what is given replaces, keys of metadata that are `undefined` go, an empty title
   * removes it. Compare-and-set: two updates at once both happen. Returns the session; undefined for one that does not
   * exist.
   *
   * @throws ConfigurationError `title`, `metadata`; ConflictError `other_owner`, or `stale` if others kept changing it;
   *   EncryptionError where they are encrypted with a key that this process does not have.
   */
  async update(
    sessionId: string,
    changes: SessionNames,
    options: SessionAccess = {},
  ): Promise<StoredSession | undefined> {
    const session = { id: sessionId, ...accessOf("sessions.update", options) };
    const lists = this.#lists("update");
    const { title, metadata = {} } = parseOptions("sessions.update", changesSchema(), changes) as SessionNames;
    const given = Object.entries(metadata);
    labelOf("sessions.update", { ...(title !== undefined && { title }), metadata: definedOnly(given) });
    for (let attempt = 1; attempt <= maxTries.write; attempt += 1) {
      const details = await lists.describe(session);
      if (details === undefined) {
        return undefined;
      }
      refuseLocked(sessionId, details.label);
      const current = namesIn(details.label);
      const label = labelOf("sessions.update", {
        ...(current.title !== undefined && { title: current.title }),
        ...(title !== undefined && { title }),
        metadata: definedOnly([...Object.entries(current.metadata), ...given]),
      });
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
   * Removes a session with all that is kept about it, and LangGraph's thread of the same id; false if there was no
   * session. For `guardMs` (ten minutes by default)
   * late writers are refused with a StoreError `erased`, so that a run under way does not bring it back.
   * `history.clear()` empties a session and leaves no guard.
   */
  async delete(
    sessionId: string,
    options: SessionAccess & Pick<SessionErasureOptions, "guardMs"> = {},
  ): Promise<boolean> {
    const { owner, guardMs } = parseOptions("sessions.delete", erasureSchema(), options);
    const access = accessOf("sessions.delete", owner === undefined ? {} : { owner });
    return this.#lists("delete").erase({ id: sessionId, ...access }, { guardMs });
  }

  /**
   * Erases all that is stored of an owner's sessions, while writers go on, and returns their number. For `guardMs` (ten
   * minutes by default; it must outlast this call and the longest turn) nobody brings one of them back. New sessions of
   * the owner are allowed when it has ended. Safe to call again after a failure. Looks through all keys of Redis.
   */
  async deleteOwner(owner: string, options: SessionErasureOptions = {}): Promise<number> {
    checkOwnerName("sessions.deleteOwner", owner);
    const { guardMs, onProgress } = parseOptions("sessions.deleteOwner", erasureSchema(), options);
    return this.#lists("deleteOwner").eraseOwner(owner, { guardMs, ...(onProgress && { onProgress }) });
  }

  /**
   * All that is stored of a session, of one moment, as lines of JSON, read page by page. Nothing for one that does not
   * exist. What is encrypted is opened.
   *
   * @throws EncryptionError where something is encrypted with a key that this process does not have; ConflictError
   *   `stale` where messages are removed meanwhile.
   */
  export(sessionId: string, options: SessionAccess = {}): AsyncIterable<string> {
    const session = { id: sessionId, ...accessOf("sessions.export", options) };
    return exportSession(requireGroup("sessions.export()", this.#store, "copies"), session);
  }

  /**
   * All that is stored of all sessions of an owner, as lines of JSON. Looks through all keys of Redis. A session that
   * cannot be read (its key is missing) stops none of the others; it is an event `session_skipped`.
   *
   * @throws the first such session's error when all others were given; not with `onProblem`, which is told of each.
   */
  exportOwner(owner: string, options: OwnerExportOptions = {}): AsyncIterable<string> {
    checkOwnerName("sessions.exportOwner", owner);
    const { onProblem } = parseOptions("sessions.exportOwner", ownerExportSchema(), options);
    const store = requireGroup("sessions.exportOwner()", this.#store, "copies");
    const lists = this.#lists("exportOwner");
    return exportOwnerSessions({ lists, store, owner, onProblem, onEvent: this.#onEvent });
  }

  /**
   * Brings back what `export` and `exportOwner` wrote, one line an element, with ids, times, reductions, titles, sums
   * of usage and owners. A session becomes visible when its last line was read, whole. One that is there already with
   * the same content is left as it is, so the same import again adds nothing. Holds a page of 500 messages in memory.
   * `beforeStore` is not called.
   *
   * @throws RecordError `corrupt` with the number of a line that no export wrote; ConflictError `exists` for a session
   *   that is there with other content; StoreError, also `erased`. With `onProblem`, what is wrong with one session is
   *   passed to it, and the others are imported.
   */
  async import(
    lines: AsyncIterable<string> | Iterable<string>,
    options: SessionImportOptions = {},
  ): Promise<SessionImportSummary> {
    return importLines(requireGroup("sessions.import()", this.#store, "copies"), lines, options);
  }

  /**
   * Makes all lists agree with the sessions, by looking through all keys of Redis, and returns the number of sessions
   * with an owner. Writers go on meanwhile.
   */
  async reindex(options: ReindexOptions = {}): Promise<number> {
    const { onProgress } = parseOptions("sessions.reindex", erasureSchema(), options);
    return this.#lists("reindex").reindex(onProgress && { onProgress });
  }

  /**
   * Encrypts all sessions anew with the current key, beside writers: what other keys sealed, and what is plain. Looks
   * through all keys of Redis. A session that cannot be opened stays as it is: it is counted in `failed`, an event
   * `session_skipped`, and passed to `onProblem`. Repeat it while the result names `incomplete` or `failed` sessions.
   *
   * @throws ConfigurationError without the option `encryption`; StoreError.
   */
  async reencrypt(options: ReencryptOptions = {}): Promise<ReencryptProgress> {
    const { onProgress, onProblem } = parseOptions("sessions.reencrypt", reencryptSchema(), options);
    const lists = this.#lists("reencrypt");
    const listeners = { onProblem, onEvent: this.#onEvent };
    return reencryptSessions(this.#store, { sessionIds: lists.scan(), onProgress, ...listeners });
  }

  #lists(method: string): SessionLists {
    return requireGroup(`sessions.${method}()`, this.#store, "lists").lists;
  }
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

function definedOnly(entries: readonly (readonly [string, unknown])[]): SessionMetadata {
  return Object.fromEntries([...new Map(entries)].filter(([, value]) => value !== undefined));
}
