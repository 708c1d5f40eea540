import { parseOptions, type SchemaOutput } from "../../options.js";
import { appendArguments, appendResult, sideArguments } from "./append-call.js";
import { commitArguments } from "./commit-call.js";
import { openConnection, type Connection } from "./connection.js";
import { idHash } from "./id-hash.js";
import { checkSessionId } from "../session-id-rules.js";
import { sessionKeys, type SessionKeys } from "./keys.js";
import { randomToken } from "../random-token.js";
import { acquireLease, releaseLease, type LeaseCall } from "./redis-leases.js";
import { rebuildSession } from "./rebuild-session.js";
import { redisStoreSchema, type RedisSessionStoreOptions } from "./redis-store-options.js";
import { RedisPages } from "./redis-pages.js";
import type { SessionPages } from "../session-pages.js";
import { readPage, readTail, type Read } from "./redis-reads.js";
import { pageFrom, roundsFrom, sideFrom, viewFrom, viewReply } from "./redis-replies.js";
import { outOfRange } from "../refusals.js";
import { planAppend, planReplaceTail, type AppendPlan } from "../append-plan.js";
import { checkCommit, checkInteger, checkPage, checkRewind, checkSideWrite } from "../request-checks.js";
import { ScriptRunner, type ScriptCall } from "./script-runner.js";
import { appendScript } from "./scripts/append.js";
import { commitReductionScript } from "./scripts/commit-reduction.js";
import { readTurnScript } from "./scripts/read-turn.js";
import { readRoundsScript } from "./scripts/read-rounds.js";
import { readSideScript } from "./scripts/read-side.js";
import { readViewScript } from "./scripts/read-view.js";
import { rewindScript } from "./scripts/rewind.js";
import { writeSideScript } from "./scripts/write-side.js";
import { hashesOf, lookedUp, marksOf, turnFrom } from "./turn-marks.js";
import { SessionCache } from "./session-cache.js";
import type { LeaseOptions } from "../leases.js";
import type { LogPage, ReadViewOptions, SessionView, StoredRounds } from "../session-reads.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  CompleteSessionStore,
  IdentifyRecord,
  ReplaceTailRequest,
  RewindRequest,
} from "../session-store.js";
import type { StoredTurn } from "../turns.js";
import { sideWithPrefix, type SideWrite } from "../side-fields.js";
import { noteLimits } from "../size-limits.js";
import { checkedReply } from "./write-replies.js";

/** A call of a script, by default with all keys of the session. */
type Call = Omit<ScriptCall, "keys"> & { readonly keys?: readonly string[] };

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
  readonly #pages: RedisPages;

  /** `owner` is what errors about the options name: the class that the user constructs. */
  constructor(options: RedisSessionStoreOptions, owner = "RedisSessionStore") {
    this.#options = parseOptions(owner, redisStoreSchema(), options);
    noteLimits(this, this.#options);
    const { client, url, config } = options;
    const { commandTimeout, waitReplicas, onEvent } = this.#options;
    this.#connection = openConnection(owner, { client, url, config }, commandTimeout);
    this.#runner = new ScriptRunner({ connection: this.#connection, commandTimeout, waitReplicas, onEvent });
    this.#pages = new RedisPages(this.#runner, this.#options.keyPrefix);
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
    const wanted = [...ids.map(idHash), ...(turn === undefined ? [] : [turn])];
    const known = this.#seen.get(sessionId)?.view ?? (neverReduced ? { base: 0, start: 0 } : undefined);
    let reply = known && (await readTail(this.#read("readView", sessionId, known.start - known.base), wanted));
    let view = reply && viewFrom(reply);
    if (view === undefined) {
      const call = { script: readViewScript, args: wanted, writes: false };
      reply = viewReply(await this.#script("readView", sessionId, call));
      view = viewFrom(reply)!;
    }
    this.#seen.note(sessionId, view.next, view);
    const asked = options.ids !== undefined || turn !== undefined;
    return asked ? { ...view, ...lookedUp(view, reply!.found, options) } : view;
  }

  async readTurn(sessionId: string, name: string): Promise<StoredTurn | undefined> {
    const call = { script: readTurnScript, args: [name], writes: false };
    const [, ...rest] = (await this.#script("readTurn", sessionId, call)) as unknown[];
    const turn = turnFrom(rest);
    return turn.count === 0 && !turn.done ? undefined : turn;
  }

  async readRounds(sessionId: string, count: number): Promise<StoredRounds> {
    checkInteger("count", count, 1);
    return roundsFrom(
      await this.#script("readRounds", sessionId, { script: readRoundsScript, args: [count], writes: false }),
    );
  }

  async readLog(
    sessionId: string,
    { from, limit }: { readonly from?: number; readonly limit?: number } = {},
  ): Promise<LogPage> {
    checkSessionId(sessionId);
    checkPage({ from, limit });
    let base = this.#seen.get(sessionId)?.view?.base ?? 0;
    for (;;) {
      const index = from === undefined ? 0 : Math.max(0, from - base);
      const reply = await readPage(this.#read("readLog", sessionId, index), limit);
      const page = pageFrom(reply, from);
      if (page !== undefined) {
        return page;
      }
      base = Number(reply.fields[2] ?? 0);
    }
  }

  async commitReduction(sessionId: string, request: CommitRequest): Promise<"committed" | "stale"> {
    checkCommit(sessionId, request);
    const call = { script: commitReductionScript, args: commitArguments(request) };
    const word = await this.#write("commitReduction", sessionId, call);
    if (word === "RANGE") {
      throw outOfRange("start");
    }
    return word === "COMMITTED" ? "committed" : "stale";
  }

  async rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(sessionId, request);
    const { forget, turns, ...rest } = request;
    const args = [JSON.stringify({ ...rest, newRev: randomToken() }), hashesOf(forget), ...marksOf(turns)];
    const word = await this.#write("rewind", sessionId, { script: rewindScript, args });
    if (word === "RANGE") {
      throw outOfRange("to");
    }
    return word === "REWOUND" ? "rewound" : "stale";
  }

  async clear(sessionId: string): Promise<void> {
    const { log, ids, state } = this.#keys(sessionId);
    const keys = [log, ids, state];
    await this.#runner.command({ operation: "clear", sessionId }, { verb: "unlink", args: keys }, keys);
    this.#seen.delete(sessionId);
  }

  async rebuild(sessionId: string, identify: IdentifyRecord): Promise<void> {
    const name = { operation: "rebuild", sessionId };
    await rebuildSession({ runner: this.#runner, name, keys: this.#keys(sessionId), identify });
    this.#seen.delete(sessionId);
  }

  async readSide(sessionId: string, prefix: string): Promise<Readonly<Record<string, string>>> {
    const keys = [this.#keys(sessionId).state];
    const reply = await this.#script("readSide", sessionId, {
      script: readSideScript,
      keys,
      args: [`side:${prefix}`],
      writes: false,
    });
    return sideWithPrefix(sideFrom(reply), "");
  }

  async writeSide(sessionId: string, changes: SideWrite): Promise<boolean> {
    checkSideWrite(sessionId, changes);
    const { log, ids, state } = this.#keys(sessionId);
    const keys = changes.ttlMs === undefined ? [state] : [state, log, ids];
    const expected = Object.entries(changes.expected ?? {}).flatMap(([name, value]) => [
      `side:${name}`,
      value === undefined ? "0" : "1",
      value ?? "",
    ]);
    const side = sideArguments(changes);
    const counts = { ...side.request, epoch: randomToken(), expects: expected.length / 3 };
    const request = { ...counts, ttl: changes.ttlMs, keys: changes.keys };
    const args = [JSON.stringify(request), ...expected, ...side.args];
    return (await this.#write("writeSide", sessionId, { script: writeSideScript, keys, args })) === "OK";
  }

  async acquireLease(sessionId: string, ttlMs: number, options: LeaseOptions = {}): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    return acquireLease(this.#lease(sessionId, options), ttlMs, options.held);
  }

  async releaseLease(sessionId: string, token: string, options: LeaseOptions = {}): Promise<void> {
    await releaseLease(this.#lease(sessionId, options), token);
  }

  get pages(): SessionPages {
    return this.#pages;
  }

  async close(): Promise<void> {
    this.#runner.close();
    await this.#connection.close(this.#options.commandTimeout);
  }

  async #append(
    operation: string,
    sessionId: string,
    { request, plan }: { readonly request: AppendRequest; readonly plan: AppendPlan },
  ): Promise<AppendResult | "stale"> {
    const at = this.#seen.get(sessionId)?.next ?? 0;
    const args = appendArguments(request, plan, at);
    const reply = await this.#script(operation, sessionId, { script: appendScript, args, writes: true });
    const result = appendResult(sessionId, { reply, request, plan });
    if (result !== "stale") {
      this.#seen.note(sessionId, result.next, result.view);
    }
    return result;
  }

  #lease(sessionId: string, { purpose }: LeaseOptions): LeaseCall {
    return { runner: this.#runner, sessionId, keys: this.#keys(sessionId), purpose };
  }

  #read(operation: string, sessionId: string, index: number): Read {
    return { runner: this.#runner, name: { operation, sessionId }, keys: this.#keys(sessionId), index };
  }

  async #write(operation: string, sessionId: string, call: Omit<Call, "writes">): Promise<unknown> {
    const reply = await this.#script(operation, sessionId, { ...call, writes: true });
    return checkedReply({ operation, sessionId }, reply);
  }

  #script(operation: string, sessionId: string, call: Call): Promise<unknown> {
    const { log, ids, state } = this.#keys(sessionId);
    const { script, args, writes, keys = [log, ids, state] } = call;
    return this.#runner.run({ operation, sessionId }, { script, keys, args, writes });
  }

  #keys(sessionId: string): SessionKeys {
    return sessionKeys(this.#options.keyPrefix, sessionId);
  }
}
