import { BoundedMap, promised } from "../../base/bounds.js";
import { parseOptions, type SchemaOutput } from "../../base/options.js";
import { FollowedLists, keepsExpiry } from "../redis-lists/followed-lists.js";
import { askOf, askText, byFirstScripts, firstScripts, runOnSession, ScriptRunner } from "../redis/script-runner.js";
import type { Accept } from "../redis/script-runner.js";
import { openConnection, type Connection } from "../redis/connection.js";
import { idHash, logSum, sessionKeys, type SessionKeys } from "../redis/keys.js";
import {
  lookedUp,
  appendArguments,
  appendResult,
  commitArguments,
  fullReply,
  heldReply,
  ownerIn,
  shownIn,
} from "./append-call.js";
import type { AppendParts, TakenHold } from "./append-call.js";
import { laterScripts } from "../redis/script.js";
import { redisStoreSchema, type RedisSessionStoreOptions } from "../redis/connection-options.js";
import { planAppend, type SizeLimits } from "../contract/append-decision.js";
import { randomToken } from "../../base/ids.js";
import type { SessionData, SessionCopies } from "../contract/session-data.js";
import type { SessionEdits, AppendRequest, AppendResult, CommitRequest } from "../contract/session-writes.js";
import { groupWhenUsed } from "../contract/groups.js";
import { defaultGuardMs, type SessionLists, type SessionRef } from "../contract/session-ref.js";
import { emptyView, type ReadViewOptions, type SessionView } from "../contract/session-reads.js";
import type { SessionStore } from "../contract/session-store.js";
import { keepAlive, acquireAndRead } from "./holds.js";
import type { PlannedRequest, RedisCalls, SessionCall, SessionPlace, HeldReadOptions } from "./holds.js";
import { KeptViews, keptTexts, readOf, viewBehind, checkOwner, readTail, viewFrom } from "./views.js";
import type { KeptView, ReadView, Shown } from "./views.js";

/** The connection of a store, for data that lies beside its sessions. */
export interface RedisWire {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  /** Milliseconds. */
  readonly commandTimeout: number;
  /** Opens another connection, see {@link Connection.another}. */
  readonly another: Connection["another"];
}

/** The wire of a store in Redis; undefined for any other store. */
export function wireOf(store: object): RedisWire | undefined {
  return RedisSessionStore["wireOf"](store);
}

/**
 * Keeps sessions in Redis 6.2 or later, or a cluster of it: three keys per session in one hash slot; each write is one
 * script.
 *
 * Reads of a session of which a part was evicted or deleted return what is left, marked `damaged`; without `state`,
 * that is the whole log, from position 0, with epoch `""`. Writes to it are refused until `rebuild` or `clear`.
 */
export class RedisSessionStore implements SessionStore {
  readonly #options: SchemaOutput<typeof redisStoreSchema>;
  readonly #connection: Connection;
  readonly #runner: ScriptRunner;
  readonly #seen = new SessionCache();
  readonly #views: KeptViews;
  /** Owners of sessions, from replies, so that later writes without an owner enter their lists too. */
  readonly #owners = new BoundedMap<string, string>(10_000);
  /** Names of keys of the sessions used last: each call needs them twice. */
  readonly #keys = new BoundedMap<string, SessionKeys>(1_000);
  readonly #lists: FollowedLists;
  readonly #calls: RedisCalls;
  readonly limits: SizeLimits;
  readonly edits: SessionEdits;
  readonly data: SessionData;
  readonly lists: SessionLists;
  readonly copies: SessionCopies;

  // A method, not a static block: bundlers would keep that with its dependencies.
  private static wireOf(store: object): RedisWire | undefined {
    if (!(#runner in store)) {
      return undefined;
    }
    const { keyPrefix, commandTimeout } = store.#options;
    return { runner: store.#runner, keyPrefix, commandTimeout, another: () => store.#connection.another() };
  }

  /** `owner` names the class that the user constructs, for errors about the options. */
  constructor(options: RedisSessionStoreOptions, owner = "RedisSessionStore") {
    this.#options = parseOptions(owner, redisStoreSchema(), options);
    const { commandTimeout, waitReplicas, onEvent, limits } = this.#options;
    this.limits = limits;
    this.#views = new KeptViews(this.#options.viewCacheBytes);
    this.#connection = openConnection(owner, options, commandTimeout);
    this.#runner = new ScriptRunner({ connection: this.#connection, commandTimeout, waitReplicas, onEvent });
    this.#lists = new FollowedLists(this.#runner, this.#options.keyPrefix, this.#owners);
    this.#calls = this.#callsOf();
    const calls = this.#calls;
    this.edits = groupWhenUsed("edits", async () => new (await import("./edits.js")).RedisEdits(calls));
    this.data = groupWhenUsed("data", async () => new (await import("./session-data.js")).RedisSessionData(calls));
    this.lists = this.#lists.group;
    this.copies = groupWhenUsed("copies", async () => new (await import("./copies.js")).RedisCopies(calls));
  }

  append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    return promised(() => {
      const plan = planAppend(session, request, this.limits);
      return this.#append("append", session, { request, plan }) as Promise<AppendResult>;
    });
  }

  readView(session: SessionRef, options: ReadViewOptions = {}): Promise<SessionView> {
    return promised(() => {
      const keptView = this.#views.get(session.id, true);
      if (options.take !== undefined) {
        return this.#readTaking(session, options, { take: options.take, keptView });
      }
      return keptView === undefined ? this.#readAll(session, options) : this.#readBehind(session, options, keptView);
    });
  }

  async commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    const newRev = randomToken();
    const args = commitArguments(session, request, { newRev, view: this.#views.get(session.id)?.view });
    const { commitReductionScript: script } = await laterScripts();
    const word = await this.#write("commitReduction", session, { script, args });
    if (word !== "COMMITTED") {
      this.#views.delete(session.id);
      return "stale";
    }
    this.#views.reduce(session.id, newRev, request);
    return "committed";
  }

  async clear(session: SessionRef): Promise<string> {
    const { id, owner, hold } = session;
    const { existed, epoch } = await clearSession(this.#session(session));
    this.#forget(id);
    this.#noteOwner(id, "");
    const { eraseOthers } = await import("../redis-lists/kinds.js");
    const isNamelessOwn = owner === undefined || existed;
    const scan = { runner: this.#runner, keyPrefix: this.#options.keyPrefix };
    // A run or a thread of the turn that clears goes on.
    const guard = hold === undefined ? ({ guardMs: defaultGuardMs, isCleared: true } as const) : { guardMs: undefined };
    await eraseOthers(scan, id, { owner, isNamelessOwn, ...guard });
    return epoch;
  }

  async close(): Promise<void> {
    await this.#lists.flush();
    this.#runner.close();
    await this.#connection.close(this.#options.commandTimeout);
  }

  #append(
    operation: string,
    session: SessionRef,
    { request, plan, ttlMs = request.ttlMs }: PlannedRequest,
  ): Promise<AppendResult | "stale"> {
    const { id: sessionId } = session;
    const keptView = this.#views.get(sessionId);
    const at = this.#seen.get(sessionId)?.next ?? 0;
    const texts = plan.records.map(({ record }) => record);
    const parts = { plan, texts, sum: logSum(texts), at, keptView, epoch: randomToken() };
    const args = appendArguments(session, request, parts);
    return this.#follow<AppendResult | "stale">(session, ttlMs, (accept) =>
      byFirstScripts(({ appendScript: script }) =>
        this.#script(operation, session, { script, args, writes: true }, (reply) =>
          accept(this.#appended(session, fullReply(reply, plan), { request, parts })),
        ),
      ),
    );
  }

  /** The result in the reply of an append; notes where the log ends now, and keeps its view. */
  #appended(
    session: SessionRef,
    full: unknown,
    { request, parts }: { readonly request: AppendRequest; readonly parts: AppendParts },
  ): AppendResult | "stale" {
    const { id: sessionId } = session;
    const { reply, taken } = heldReply(full);
    const done = appendResult(sessionId, { reply, request, plan: parts.plan });
    this.#noteOwner(sessionId, ownerIn(reply));
    if (done === "stale") {
      return done;
    }
    const shown = shownIn(reply);
    const isPlain = done.appended === parts.texts.length && done.next === parts.at + done.appended;
    const extended = isPlain ? this.#views.extend(sessionId, done.epoch, parts) : undefined;
    const read = shown && viewBehind(Array.isArray(shown[0]) ? undefined : extended, { shown });
    this.#seen.note(sessionId, done.next, read?.view);
    if (read !== undefined) {
      this.#views.keep(sessionId, read);
    }
    const result = read === undefined ? done : { view: read.view, ...done };
    return taken === undefined ? result : this.#withHold(session, request, result, taken);
  }

  #withHold(session: SessionRef, { take, ttlMs }: AppendRequest, result: AppendResult, taken: TakenHold): AppendResult {
    // A write with a time to live has set the expiry itself.
    if (taken.left >= 0 && (result.turn !== undefined || ttlMs === undefined)) {
      keepAlive(this.#calls, session, { held: take!, left: taken.left });
    }
    return { place: taken.place, ...result };
  }

  async #readTaking(
    session: SessionRef,
    options: ReadViewOptions,
    { take, keptView }: Pick<HeldReadOptions, "take" | "keptView">,
  ): Promise<SessionView> {
    const request = { take, turn: options.turn, keptView, wanted: wantedOf(options) };
    const taken = await acquireAndRead(this.#calls, session, request);
    const { place } = taken;
    if (place?.isHeld === false) {
      return { ...emptyView(), place };
    }
    const read = viewBehind(keptView, taken);
    const view = await (read === undefined ? this.#readAll(session, options) : this.#noteRead(session, options, read));
    return place === undefined ? view : { place, ...view };
  }

  /** Reads what is new behind the view that is kept, all of it where that does not continue it. */
  #readBehind(session: SessionRef, options: ReadViewOptions, keptView: KeptView): Promise<SessionView> {
    return this.#readShown(session, { options, keptView }, (reply) => {
      const read = viewBehind(keptView, shownOf(reply));
      return read === undefined ? this.#readAll(session, options) : this.#noteRead(session, options, read);
    });
  }

  /** Reads the view from where it begins, as far as is known. */
  async #readAll(session: SessionRef, options: ReadViewOptions): Promise<SessionView> {
    this.#views.delete(session.id);
    const place = this.#seen.get(session.id)?.view ?? (options.neverReduced ? { base: 0, start: 0 } : undefined);
    const name = { operation: "readView", sessionId: session.id };
    const from = place && { name, index: place.start - place.base, ...this.#session(session) };
    const reply = from && (await readTail(from, wantedOf(options)));
    const view = reply && viewFrom(reply);
    return view === undefined
      ? this.#readShown(session, { options, keptView: undefined }, (shown) =>
          this.#noteRead(session, options, viewBehind(undefined, shownOf(shown))!),
        )
      : this.#noteRead(session, options, readOf(reply!, view));
  }

  #readShown(
    session: SessionRef,
    { options, keptView }: { readonly options: ReadViewOptions; readonly keptView: KeptView | undefined },
    accept: Accept<SessionView>,
  ): Promise<SessionView> {
    const args = [askText(session), ...keptTexts(keptView), ...wantedOf(options)];
    return byFirstScripts(({ readViewScript: script }) =>
      this.#script("readView", session, { script, args, writes: false }, accept),
    );
  }

  /** Notes and keeps a view that was read, and returns it with what was looked up. */
  #noteRead(session: SessionRef, options: ReadViewOptions, read: ReadView): SessionView {
    const { view, keptView } = read;
    this.#noteOwner(session.id, checkOwner(session, read.access));
    if (view.records !== keptView?.view.records) {
      this.#seen.note(session.id, view.next, view);
    }
    this.#views.keep(session.id, read);
    const looksUp = options.ids !== undefined || options.turn !== undefined;
    return looksUp ? { ...view, ...lookedUp(view, read.lookups, options) } : view;
  }

  #forget(sessionId: string): void {
    this.#seen.delete(sessionId);
    this.#views.delete(sessionId);
  }

  #callsOf(): RedisCalls {
    return {
      runner: this.#runner,
      keyPrefix: this.#options.keyPrefix,
      lists: this.#lists,
      limits: this.limits,
      placeOf: (session) => this.#session(session),
      script: (operation, session, call) => this.#script(operation, session, call),
      append: (operation, session, planned) => this.#append(operation, session, planned),
      follow: (session, { ttlMs, write }) => this.#follow(session, ttlMs, (accept) => write().then(accept)),
      noteOwner: (sessionId, owner) => this.#noteOwner(sessionId, owner),
      forget: (sessionId) => this.#forget(sessionId),
    };
  }

  /** Makes a write behind the entry of the session in its owner's list, which the reply may be the first to name. */
  #follow<T>(
    session: SessionRef,
    ttlMs: number | undefined,
    write: (accept: (result: T) => T | Promise<T>) => Promise<T>,
  ): Promise<T> {
    const { id, owner } = session;
    if (owner !== undefined || this.#owners.has(id)) {
      return this.#lists.follow(session, { ttlMs, write: () => write((result) => result) });
    }
    return write((result) =>
      this.#owners.has(id) ? this.#lists.follow(session, { ttlMs, write: async () => result }) : result,
    );
  }

  /** Notes the owner in a reply, `""` for none; anything else says nothing of it. */
  #noteOwner(sessionId: string, owner: unknown): void {
    if (owner === "") {
      this.#owners.delete(sessionId);
    } else if (typeof owner === "string") {
      this.#owners.set(sessionId, owner);
    }
  }

  #session(session: SessionRef): SessionPlace {
    return { runner: this.#runner, session, keys: this.#keysOf(session.id) };
  }

  #keysOf(sessionId: string): SessionKeys {
    const cached = this.#keys.get(sessionId);
    if (cached !== undefined) {
      return cached;
    }
    const keys = sessionKeys(this.#options.keyPrefix, sessionId);
    this.#keys.set(sessionId, keys);
    return keys;
  }

  #write(operation: string, session: SessionRef, call: Omit<SessionCall, "writes">): Promise<unknown> {
    return this.#follow<unknown>(session, keepsExpiry, (accept) =>
      this.#script(operation, session, { writes: true, ...call }, (reply) => {
        const [word, owner] = reply as [string, string?];
        this.#noteOwner(session.id, owner);
        return accept(word);
      }),
    );
  }

  #script<T = unknown>(
    operation: string,
    { id: sessionId }: SessionRef,
    call: SessionCall,
    accept?: Accept<T>,
  ): Promise<T> {
    const { log, ids, state } = this.#keysOf(sessionId);
    return runOnSession(this.#runner, { operation, sessionId }, { keys: [log, ids, state], ...call }, accept);
  }
}

/** The fields of `ids` that a read is to look up. */
function wantedOf({ ids = [], turn }: ReadViewOptions): string[] {
  return [...ids.map(idHash), ...(turn === undefined ? [] : [turn])];
}

/** The view in a reply of the read script. */
function shownOf(reply: unknown): Shown {
  const [, shown, lookups] = Array.isArray(reply) ? (reply as unknown[]) : [];
  return { shown, lookups };
}

/** The last known positions of a session. Only a hint: other processes may have moved them. */
export interface SeenSession {
  /** Positions of the oldest kept record and of the first one in the view; undefined if only the end was seen. */
  readonly view: { readonly base: number; readonly start: number } | undefined;
  /** Position of the next record. */
  readonly next: number;
}

/** The last seen places of up to 10,000 sessions; those noted longest ago leave first. */
class SessionCache extends BoundedMap<string, SeenSession> {
  constructor() {
    super(10_000);
  }

  /** Notes the end of the log and the view; without a view, the known one stays. */
  note(sessionId: string, next: number, view = this.get(sessionId)?.view): void {
    this.set(sessionId, { next, view: view && { base: view.base, start: view.start } });
  }
}

/**
 * Removes a session; returns whether it existed, and the new epoch of its hold.
 *
 * Without a hold two round trips, a read of the epoch and a removal under that epoch: a client resends a command whose
 * reply was lost, and that must not remove records that others wrote in between.
 *
 * @throws ConflictError `other_owner`.
 */
async function clearSession({ runner, session, keys }: SessionPlace) {
  const name = { operation: "clear", sessionId: session.id };
  const { log, ids, state } = keys;
  const { readEpochScript, clearSessionScript } = await firstScripts();
  const life = { script: readEpochScript, keys: [state], args: [askText(session)], writes: false };
  const was = session.hold?.epoch ?? ((await runOnSession(runner, name, life)) as string[])[1]!;
  const newEpoch = session.hold && randomToken();
  const args = [JSON.stringify({ ...askOf(session), newEpoch }), was];
  await runOnSession(runner, name, { script: clearSessionScript, keys: [log, ids, state], args, writes: true });
  return { existed: was !== "", epoch: newEpoch ?? "" };
}
