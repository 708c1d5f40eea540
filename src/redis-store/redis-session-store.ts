import { parseOptions, type SchemaOutput } from "../base/options.js";
import { appendArguments, appendResult, fullReply, ownerIn } from "./append-call.js";
import { clearSession } from "./clear-session.js";
import { commitArguments, rewindArguments } from "./commit-call.js";
import { openConnection, type Connection } from "../redis/connection.js";
import { idHash } from "../redis/id-hash.js";
import type { SessionAccess, SessionIndex } from "../store/lists.js";
import { sessionKeys } from "../redis/keys.js";
import { acquireLease, releaseLease } from "./leases.js";
import { rebuildSession } from "./rebuild-session.js";
import { redisStoreSchema, type RedisSessionStoreOptions } from "../redis/redis-store-options.js";
import { RedisForks } from "./forks.js";
import { RedisPages } from "./pages.js";
import { RedisSessionIndex } from "../redis-lists/session-lists.js";
import { readSide, writeSide } from "./side.js";
import { RedisRecordSwaps } from "./record-swaps.js";
import { RedisTransfers } from "./transfers.js";
import { readLogPage, readTail } from "./reads.js";
import { checkOwner, roundsFrom, viewFrom, viewReply } from "./replies.js";
import { otherOwner, outOfRange } from "../store/refusals.js";
import { extendExpiry, type RedisExpiry } from "./expiry.js";
import { RedisTurnQueue } from "./holds.js";
import { planAppend, planReplaceTail, type AppendPlan } from "../store/append-plan.js";
import { checkCommit, checkInteger, checkPage, checkRewind } from "../store/request-checks.js";
import { ScriptRunner, type ScriptCall } from "../redis/script-runner.js";
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
import { SessionCache } from "./session-cache.js";
import type { LogPage, ReadLogOptions, ReadViewOptions, SessionView, StoredRounds } from "../store/session-reads.js";
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
import type { ExpiryExtension } from "../store/session-expiry.js";
import { noteLimits } from "../store/size-limits.js";
import { checkedReply } from "./write-replies.js";

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
  readonly forks: CompleteSessionStore["forks"];
  readonly #index: RedisSessionIndex;
  readonly #expiry: RedisExpiry;
  readonly pages: CompleteSessionStore["pages"];
  readonly recordSwaps: CompleteSessionStore["recordSwaps"];
  readonly transfers: CompleteSessionStore["transfers"];
  readonly turnQueue: CompleteSessionStore["turnQueue"];

  /** `owner` is what errors about the options name: the class that the user constructs. */
  constructor(options: RedisSessionStoreOptions, owner = "RedisSessionStore") {
    this.#options = parseOptions(owner, redisStoreSchema(), options);
    noteLimits(this, this.#options);
    const { commandTimeout, waitReplicas, onEvent } = this.#options;
    this.#connection = openConnection(owner, options, commandTimeout);
    this.#runner = new ScriptRunner({ connection: this.#connection, commandTimeout, waitReplicas, onEvent });
    this.pages = new RedisPages(this.#runner, this.#options.keyPrefix);
    this.recordSwaps = new RedisRecordSwaps(this.#runner, this.#options.keyPrefix);
    this.#index = new RedisSessionIndex(this.#runner, this.#options.keyPrefix);
    const keysOf = (sessionId: string) => this.#session(sessionId).keys;
    this.#expiry = { runner: this.#runner, index: this.#index, keysOf };
    this.turnQueue = new RedisTurnQueue(this.#expiry);
    this.forks = new RedisForks(this.#runner, this.#options.keyPrefix, this.#index);
    this.transfers = new RedisTransfers(this.#runner, this.#options.keyPrefix, this.#index);
  }

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(sessionId, request, this.#options);
    return this.#append("append", sessionId, { request, plan }) as Promise<AppendResult>;
  }

  async replaceTail(sessionId: string, request: ReplaceTailRequest): Promise<AppendResult | "stale"> {
    const plan = planReplaceTail(sessionId, request, this.#options);
    return this.#append("replaceTail", sessionId, { request, plan });
  }

  async readView(sessionId: string, options: ReadViewOptions = {}): Promise<SessionView> {
    const { neverReduced = false, ids = [], turn } = options;
    const wanted = [...ids.map(idHash), ...(turn === undefined ? [] : markFields(turn))];
    const known = this.#seen.get(sessionId)?.view ?? (neverReduced ? { base: 0, start: 0 } : undefined);
    const name = { operation: "readView", sessionId };
    const read = known && { ...this.#session(sessionId), name, index: known.start - known.base };
    let reply = read && (await readTail(read, wanted));
    let view = reply && viewFrom(reply);
    if (view === undefined) {
      const call = { script: readViewScript, args: wanted, writes: false };
      reply = viewReply(await this.#script("readView", sessionId, call));
      view = viewFrom(reply) ?? viewFrom({ ...reply, index: 0 })!;
    }
    this.#index.noteOwner(sessionId, checkOwner(sessionId, reply!.fields, options));
    this.#seen.note(sessionId, view.next, view);
    const asked = options.ids !== undefined || turn !== undefined;
    return asked ? { ...view, ...lookedUp(view, reply!.found, options) } : view;
  }

  async readTurn(sessionId: string, name: string, access: SessionAccess = {}): Promise<StoredTurn | undefined> {
    const call = { script: readTurnScript, args: [name, access.owner ?? ""], writes: false };
    const [word, ...rest] = (await this.#script("readTurn", sessionId, call)) as unknown[];
    const turn = turnFrom(rest);
    return word !== "TURN" || (turn.count === 0 && !turn.done) ? undefined : turn;
  }

  async readRounds(sessionId: string, count: number, access: SessionAccess = {}): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    const call = { script: readRoundsScript, args: [count, access.owner ?? ""], writes: false };
    return roundsFrom(await this.#script("readRounds", sessionId, call));
  }

  async readLog(sessionId: string, options: ReadLogOptions = {}): Promise<LogPage> {
    checkPage(options);
    const base = this.#seen.get(sessionId)?.view?.base ?? 0;
    const { page, owner } = await readLogPage(this.#session(sessionId), options, base);
    this.#index.noteOwner(sessionId, owner);
    return page;
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(sessionId, request);
    const args = commitArguments(request);
    const word = await this.#write("commitReduction", sessionId, { script: commitReductionScript, args });
    if (word === "RANGE") {
      throw outOfRange("start");
    }
    return word === "COMMITTED" ? "committed" : "stale";
  }

  async rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(sessionId, request);
    const word = await this.#write("rewind", sessionId, { script: rewindScript, args: rewindArguments(request) });
    if (word === "RANGE") {
      throw outOfRange("to");
    }
    return word === "REWOUND" ? "rewound" : "stale";
  }

  async clear(sessionId: string, { owner = "" }: SessionAccess = {}): Promise<void> {
    const ended = await clearSession(this.#session(sessionId), owner);
    this.#seen.delete(sessionId);
    await this.#index.ended(sessionId, ended || owner);
  }

  async rebuild(sessionId: string, identify: IdentifyRecord, { owner }: SessionAccess = {}): Promise<void> {
    const rebuild = { ...this.#session(sessionId), name: { operation: "rebuild", sessionId }, identify, owner };
    const write = async () => this.#index.noteOwner(sessionId, await rebuildSession(rebuild));
    await this.#index.follow(sessionId, { owner, write });
    this.#seen.delete(sessionId);
  }

  async readSide(sessionId: string, prefix: string, access?: SessionAccess): Promise<Readonly<Record<string, string>>> {
    return readSide(this.#session(sessionId), prefix, access);
  }

  async writeSide(sessionId: string, changes: SideWrite): Promise<boolean> {
    const write = async () => {
      const owner = await writeSide(this.#session(sessionId), changes);
      this.#index.noteOwner(sessionId, owner);
      return owner !== undefined;
    };
    return this.#index.follow(sessionId, { owner: changes.owner, ttlMs: changes.ttlMs, write, wrote: Boolean });
  }

  async acquireLease(sessionId: string, ttlMs: number): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    return acquireLease(this.#session(sessionId), ttlMs);
  }

  async releaseLease(sessionId: string, token: string): Promise<void> {
    await releaseLease(this.#session(sessionId), token);
  }

  extendExpiry(sessionId: string, request: ExpiryExtension): Promise<boolean> {
    return extendExpiry(this.#expiry, sessionId, request);
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
    sessionId: string,
    { request, plan }: { readonly request: AppendRequest; readonly plan: AppendPlan },
  ): Promise<AppendResult | "stale"> {
    const args = appendArguments(request, plan, this.#seen.get(sessionId)?.next ?? 0);
    const write = async () => {
      const sent = await this.#script(operation, sessionId, { script: appendScript, args, writes: true });
      const reply = fullReply(sent, plan);
      const result = appendResult(sessionId, { reply, request, plan });
      this.#index.noteOwner(sessionId, ownerIn(reply));
      if (result !== "stale") {
        this.#seen.note(sessionId, result.next, result.view);
      }
      return result;
    };
    const wrote = (result: AppendResult | "stale") => result !== "stale" && result.turn === undefined;
    return this.#index.follow(sessionId, { owner: request.owner, ttlMs: request.ttlMs, write, wrote });
  }

  #session(sessionId: string) {
    return { runner: this.#runner, sessionId, keys: sessionKeys(this.#options.keyPrefix, sessionId) };
  }

  async #write(operation: string, sessionId: string, call: Omit<Call, "writes">): Promise<unknown> {
    const write = async () => {
      const reply = await this.#script(operation, sessionId, { ...call, writes: true });
      const [word, owner] = [checkedReply({ operation, sessionId }, reply)].flat();
      this.#index.noteOwner(sessionId, owner);
      return word;
    };
    return this.#index.follow(sessionId, { write, wrote: (word) => word !== "STALE" && word !== "RANGE" });
  }

  async #script(operation: string, sessionId: string, call: Call): Promise<unknown> {
    const { log, ids, state } = this.#session(sessionId).keys;
    const reply = await this.#runner.run({ operation, sessionId }, { ...call, keys: [log, ids, state] });
    if (reply === "OWNER" || (Array.isArray(reply) && reply[0] === "OWNER")) {
      throw otherOwner(sessionId);
    }
    return reply;
  }
}
