import { BoundedMap } from "../base/bounded-map.js";
import { parseOptions, type SchemaOutput } from "../base/options.js";
import { appendArguments, appendResult, fullReply, ownerIn } from "./append-call.js";
import { clearSession } from "./clear-session.js";
import { commitArguments, rewindArguments } from "./commit-call.js";
import { openConnection, type Connection } from "../redis/connection.js";
import { idHash } from "../redis/id-hash.js";
import type { SessionIndex } from "../store/lists.js";
import { sessionKeys, type SessionKeys } from "../redis/keys.js";
import { acquireLease, releaseLease } from "./leases.js";
import { rebuildSession } from "./rebuild-session.js";
import { redisStoreSchema, type RedisSessionStoreOptions } from "../redis/redis-store-options.js";
import { RedisForks } from "./forks.js";
import { RedisPages } from "./pages.js";
import { RedisSessionIndex, type FollowedWrite } from "../redis-lists/session-lists.js";
import { readSide, writeSide } from "./side.js";
import { RedisRecordSwaps } from "./record-swaps.js";
import { RedisTransfers } from "./transfers.js";
import { readLogPage, readTail } from "./reads.js";
import { checkOwner, roundsFrom, viewFrom, viewReply } from "./replies.js";
import { outOfRange } from "../store/refusals.js";
import { extendExpiry, type RedisExpiry } from "./expiry.js";
import { RedisTurnQueue } from "./holds.js";
import { planAppend, planReplaceTail, type AppendPlan } from "../store/append-plan.js";
import { checkCommit, checkInteger, checkPage, checkRewind } from "../store/request-checks.js";
import { ScriptRunner, type ScriptCall, runOnSession } from "../redis/script-runner.js";
import {
  appendScript,
  commitReductionScript,
  readRoundsScript,
  readTurnScript,
  readViewScript,
  rewindScript,
} from "../redis/lua/scripts.js";
import { markFields } from "../redis/turn-mark-fields.js";
import { lookedUp, turnFrom } from "./turn-marks.js";
import type { LogPage, ReadLogOptions, ReadViewOptions, SessionView, StoredRounds } from "../store/session-reads.js";
import type { SessionRef } from "../store/session-ref.js";
import type { CompleteSessionStore } from "../store/session-store.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../store/session-writes.js";
import type { StoredTurn } from "../store/turns.js";
import type { SideWrite } from "../store/side-fields.js";
import type { SizeLimits } from "../store/size-limits.js";
import { askText } from "../redis/ask.js";

/** A call of a script with all keys of the session. */
type Call = Omit<ScriptCall, "keys">;

/**
 * Sessions in Redis 6.2 or later, or a cluster of it: three keys per session in one hash slot, each change one script.
 *
 * Reads of a session of which a part was evicted or deleted return what is left, marked `damaged`; without `state`,
 * that is the whole log, from position 0, with epoch `""`. Writes to it are refused until `rebuild` or `clear`.
 */
export class RedisSessionStore implements CompleteSessionStore {
  readonly #options: SchemaOutput<typeof redisStoreSchema>;
  readonly #connection: Connection;
  readonly #runner: ScriptRunner;
  readonly #seen = new SessionCache();
  /** The sessions of which a reply named an owner. */
  readonly #owned = new BoundedMap<string, true>(10_000);
  readonly forks: CompleteSessionStore["forks"];
  readonly #index: RedisSessionIndex;
  readonly #expiry: RedisExpiry;
  readonly limits: SizeLimits;
  readonly pages: CompleteSessionStore["pages"];
  readonly recordSwaps: CompleteSessionStore["recordSwaps"];
  readonly transfers: CompleteSessionStore["transfers"];
  readonly turnQueue: CompleteSessionStore["turnQueue"];

  /** `owner` is what errors about the options name: the class that the user constructs. */
  constructor(options: RedisSessionStoreOptions, owner = "RedisSessionStore") {
    this.#options = parseOptions(owner, redisStoreSchema(), options);
    const { commandTimeout, waitReplicas, onEvent, maxMessageBytes, maxAppendBytes } = this.#options;
    this.limits = { maxMessageBytes, maxAppendBytes };
    this.#connection = openConnection(owner, options, commandTimeout);
    this.#runner = new ScriptRunner({ connection: this.#connection, commandTimeout, waitReplicas, onEvent });
    this.pages = new RedisPages(this.#runner, this.#options.keyPrefix);
    this.recordSwaps = new RedisRecordSwaps(this.#runner, this.#options.keyPrefix);
    this.#index = new RedisSessionIndex(this.#runner, this.#options.keyPrefix);
    const keysOf = (sessionId: string) => this.#keysOf(sessionId);
    this.#expiry = { runner: this.#runner, index: this.#index, keysOf };
    this.turnQueue = new RedisTurnQueue(this.#expiry);
    this.forks = new RedisForks(this.#runner, this.#options.keyPrefix, this.#index);
    this.transfers = new RedisTransfers(this.#runner, this.#options.keyPrefix, this.#index);
  }

  async append(session: SessionRef, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(session, request, this.#options);
    return this.#append("append", session, { request, plan }) as Promise<AppendResult>;
  }

  async replaceTail(session: SessionRef, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(session, request, this.#options);
    return this.#append("replaceTail", session, { request, plan });
  }

  async readView(session: SessionRef, options: ReadViewOptions = {}): Promise<SessionView> {
    const sessionId = session.id;
    const { neverReduced = false, ids = [], turn } = options;
    const wanted = [...ids.map(idHash), ...(turn === undefined ? [] : markFields(turn))];
    const known = this.#seen.get(sessionId)?.view ?? (neverReduced ? { base: 0, start: 0 } : undefined);
    const name = { operation: "readView", sessionId };
    const read = known && { ...this.#session(session), name, index: known.start - known.base };
    let reply = read && (await readTail(read, wanted));
    let view = reply && viewFrom(reply);
    if (view === undefined) {
      const call = { script: readViewScript, args: [askText(session), ...wanted], writes: false };
      const [, ...found] = (await this.#script("readView", session, call)) as unknown[];
      reply = viewReply(found);
      view = viewFrom(reply) ?? viewFrom({ ...reply, index: 0 })!;
    }
    this.#noteOwner(sessionId, checkOwner(session, reply!.fields));
    this.#seen.note(sessionId, view.next, view);
    const asked = options.ids !== undefined || turn !== undefined;
    return asked ? { ...view, ...lookedUp(view, reply!.found, options) } : view;
  }

  async readTurn(session: SessionRef, name: string): Promise<StoredTurn | undefined> {
    const call = { script: readTurnScript, args: [askText(session), name], writes: false };
    const [word, ...rest] = (await this.#script("readTurn", session, call)) as unknown[];
    const turn = turnFrom(rest);
    return word !== "TURN" || (turn.count === 0 && !turn.done) ? undefined : turn;
  }

  async readRounds(session: SessionRef, count: number): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    const call = { script: readRoundsScript, args: [askText(session), count], writes: false };
    return roundsFrom(await this.#script("readRounds", session, call));
  }

  async readLog(session: SessionRef, options: ReadLogOptions = {}): Promise<LogPage> {
    checkPage(options);
    const base = this.#seen.get(session.id)?.view?.base ?? 0;
    const { page, owner } = await readLogPage(this.#session(session), options, base);
    this.#noteOwner(session.id, owner);
    return page;
  }

  async commitReduction(session: SessionRef, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(session, request);
    const args = commitArguments(session, request);
    const word = await this.#write("commitReduction", session, { script: commitReductionScript, args });
    if (word === "RANGE") {
      throw outOfRange("start");
    }
    return word === "COMMITTED" ? "committed" : "stale";
  }

  async rewind(session: SessionRef, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(session, request);
    const args = rewindArguments(session, request);
    const word = await this.#write("rewind", session, { script: rewindScript, args });
    if (word === "RANGE") {
      throw outOfRange("to");
    }
    return word === "REWOUND" ? "rewound" : "stale";
  }

  async clear(session: SessionRef): Promise<void> {
    const { id, owner = "" } = session;
    const ended = await clearSession(this.#session(session));
    this.#seen.delete(id);
    await this.#index.ended(id, ended || owner);
  }

  async rebuild(
    session: SessionRef,
    identify: IdentifyRecord,
    {
      assigns = false,
    }: {
      /** True to take the named owner where nothing says whose it is. @default false */ readonly assigns?: boolean;
    } = {},
  ): Promise<void> {
    const { id, owner } = session;
    const rebuild = { ...this.#session(session), name: { operation: "rebuild", sessionId: id }, identify, assigns };
    const write = async () => {
      const rebuilt = await rebuildSession(rebuild);
      this.#noteOwner(id, rebuilt.owner);
      await (rebuilt.lostState && rebuilt.owner !== "" ? this.#index.restoreLabel(id, rebuilt.owner) : undefined);
    };
    await this.#follow(id, { owner, write });
    this.#seen.delete(id);
  }

  async readSide(session: SessionRef, prefix: string): Promise<Readonly<Record<string, string>>> {
    return readSide(this.#session(session), prefix);
  }

  async writeSide(session: SessionRef, changes: SideWrite): Promise<boolean> {
    const { id, owner } = session;
    const write = async () => {
      const stored = await writeSide(this.#session(session), changes);
      this.#noteOwner(id, stored);
      return stored !== undefined;
    };
    return this.#follow(id, { owner, ttlMs: changes.ttlMs, write, wrote: Boolean });
  }

  async acquireLease(session: SessionRef, ttlMs: number): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    return acquireLease(this.#session(session), ttlMs);
  }

  async releaseLease(session: SessionRef, token: string): Promise<void> {
    await releaseLease(this.#session(session), token);
  }

  extendExpiry(session: SessionRef, ttlMs: number): Promise<boolean> {
    return extendExpiry(this.#expiry, session, ttlMs);
  }

  get index(): SessionIndex {
    return this.#index;
  }

  async close(): Promise<void> {
    await this.#index.close();
    this.#runner.close();
    await this.#connection.close(this.#options.commandTimeout);
  }

  async #append(
    operation: string,
    session: SessionRef,
    { request, plan }: { readonly request: AppendRequest; readonly plan: AppendPlan },
  ): Promise<AppendResult | "stale"> {
    const { id: sessionId, owner } = session;
    const args = appendArguments(session, request, { plan, at: this.#seen.get(sessionId)?.next ?? 0 });
    const write = async () => {
      const sent = await this.#script(operation, session, { script: appendScript, args, writes: true });
      const reply = fullReply(sent, plan);
      const result = appendResult(sessionId, { reply, request, plan });
      this.#noteOwner(sessionId, ownerIn(reply));
      if (result !== "stale") {
        this.#seen.note(sessionId, result.next, result.view);
      }
      return result;
    };
    const wrote = (result: AppendResult | "stale") => result !== "stale" && result.turn === undefined;
    return this.#follow(sessionId, { owner, ttlMs: request.ttlMs, write, wrote });
  }

  /** Makes a write; the owners' lists follow it where the session has an owner. */
  async #follow<T>(sessionId: string, followed: FollowedWrite<T>): Promise<T> {
    if (followed.owner !== undefined || this.#owned.get(sessionId)) {
      return this.#index.follow(sessionId, followed);
    }
    const result = await followed.write();
    const write = () => Promise.resolve(result);
    // The reply may be the first that names an owner.
    return this.#owned.get(sessionId) ? this.#index.follow(sessionId, { ...followed, write }) : result;
  }

  #noteOwner(sessionId: string, owner: unknown): void {
    if (typeof owner === "string" && owner !== "") {
      this.#owned.set(sessionId, true);
      this.#index.noteOwner(sessionId, owner);
    }
  }

  #session(session: SessionRef) {
    return { runner: this.#runner, session, keys: this.#keysOf(session.id) };
  }

  #keysOf(sessionId: string): SessionKeys {
    return sessionKeys(this.#options.keyPrefix, sessionId);
  }

  async #write(operation: string, session: SessionRef, call: Omit<Call, "writes">): Promise<unknown> {
    const write = async () => {
      const reply = await this.#script(operation, session, { ...call, writes: true });
      const [word, owner] = reply as [string, string?];
      this.#noteOwner(session.id, owner);
      return word;
    };
    return this.#follow(session.id, { write, wrote: (word) => word !== "STALE" && word !== "RANGE" });
  }

  #script(operation: string, { id: sessionId }: SessionRef, call: Call): Promise<unknown> {
    const { log, ids, state } = this.#keysOf(sessionId);
    return runOnSession(this.#runner, { operation, sessionId }, { ...call, keys: [log, ids, state] });
  }
}

const capacity = 10_000;

/**
 * Positions of a session as this process saw them last. Other processes may have moved them since; they only say where
 * to look first.
 */
export interface SeenSession {
  /** Positions of the oldest kept record and of the first one in the view; undefined if only the end was seen. */
  readonly view: { readonly base: number; readonly start: number } | undefined;
  /** Position of the next record. */
  readonly next: number;
}

/** What this process saw last of up to 10,000 sessions; evicts the least recently used. */
export class SessionCache {
  readonly #sessions = new BoundedMap<string, SeenSession>(capacity);

  get(sessionId: string): SeenSession | undefined {
    return this.#sessions.get(sessionId);
  }

  /** Notes the end of the log and the view; without a view, the known one stays. */
  note(sessionId: string, next: number, view = this.get(sessionId)?.view): void {
    this.#sessions.set(sessionId, { next, view: view && { base: view.base, start: view.start } });
  }

  delete(sessionId: string): void {
    this.#sessions.delete(sessionId);
  }
}
