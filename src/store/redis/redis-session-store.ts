import { z } from "zod";
import type { MemoryEventHandler } from "../../events.js";
import { anyFunction, lazy, parseOptions, positiveInteger, type SchemaOutput } from "../../options.js";
import { appendArguments, appendResult, sideArguments } from "./append-call.js";
import { openConnection, type Connection } from "./connection.js";
import { idHash } from "./id-hash.js";
import { checkSessionId } from "../session-id.js";
import { defaultKeyPrefix, keyPrefixIssue, sessionKeys, type SessionKeys } from "./keys.js";
import { randomToken } from "../random-token.js";
import { rebuildSession } from "./rebuild-session.js";
import type { RedisClient } from "./redis-client.js";
import { readPage, readTail, type Read } from "./redis-reads.js";
import { pageFrom, roundsFrom, sideFrom, viewFrom, viewReply } from "./redis-replies.js";
import { damaged, outOfRange } from "../refusals.js";
import {
  checkCommit,
  checkInteger,
  checkPage,
  checkRewind,
  checkSideWrite,
  defaultMaxAppendBytes,
  defaultMaxMessageBytes,
  planAppend,
} from "../request-checks.js";
import { ScriptRunner, type ScriptCall } from "./script-runner.js";
import { appendScript } from "./scripts/append.js";
import { commitReductionScript } from "./scripts/commit-reduction.js";
import { readRoundsScript } from "./scripts/read-rounds.js";
import { readSideScript } from "./scripts/read-side.js";
import { readViewScript } from "./scripts/read-view.js";
import { releaseLeaseScript } from "./scripts/release-lease.js";
import { rewindScript } from "./scripts/rewind.js";
import { writeSideScript } from "./scripts/write-side.js";
import { SessionCache } from "./session-cache.js";
import type { LogPage, ReadViewOptions, SessionView, StoredRounds } from "../session-reads.js";
import type {
  AppendRequest,
  AppendResult,
  CommitRequest,
  CompleteSessionStore,
  IdentifyRecord,
  RewindRequest,
  SideWrite,
} from "../session-store.js";
import { sideWithPrefix } from "../side-fields.js";

/** Options of {@link RedisSessionStore}; exactly one of `client`, `url` and `config` is needed. */
export interface RedisSessionStoreOptions {
  /** An ioredis `Redis` or `Cluster` (5 or 6) of yours; it is never closed and gets no new methods. */
  readonly client?: RedisClient;
  /**
   * URL of a server (`redis://`, `rediss://`, `unix://`) or of Sentinels (`redis+sentinel://host:port,host:port/name`,
   * `rediss+sentinel://`); one connection is opened at the first call and closed by `close()`.
   */
  readonly url?: string;
  /** The same by options: those of ioredis, or those of node-redis as far as they can be translated exactly. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Begins all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /** Milliseconds that a call may take, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /** Largest record in bytes of UTF-8, at least 1. @default 1_000_000 */
  readonly maxMessageBytes?: number;
  /** Largest append in bytes of UTF-8, side fields included, at least 1. @default 10_000_000 */
  readonly maxAppendBytes?: number;
  /**
   * Number of replicas that must acknowledge each write, at least 1; fewer are a StoreError `unavailable`.
   * @default none
   */
  readonly waitReplicas?: number;
  /** Is told of every round trip. */
  readonly onEvent?: MemoryEventHandler;
}

/** The options as fields of a schema, for owners that pass them on. */
export const redisStoreFields = lazy(() => ({
  client: z.unknown().optional(),
  url: z.unknown().optional(),
  config: z.unknown().optional(),
  keyPrefix: z
    .string("must be a string")
    .superRefine((value, context) => {
      const message = keyPrefixIssue(value);
      if (message !== undefined) {
        context.addIssue({ code: "custom", message });
      }
    })
    .default(defaultKeyPrefix),
  commandTimeout: positiveInteger.max(2_147_483_647, "must be at most 2147483647").default(5_000),
  maxMessageBytes: positiveInteger.default(defaultMaxMessageBytes),
  maxAppendBytes: positiveInteger.default(defaultMaxAppendBytes),
  waitReplicas: positiveInteger.optional(),
  onEvent: anyFunction<MemoryEventHandler>().optional(),
}));
const optionsSchema = lazy(() => z.strictObject(redisStoreFields()));

/**
 * Sessions in Redis 6.2 or later, or a cluster of it: three keys per session in one hash slot, each change one script.
 *
 * Reads of a session of which a part was evicted or deleted give what is left, marked `damaged`; where `state` is gone,
 * that is the whole log, from position 0, with epoch `""`. Writes to it are refused until `rebuild` or `clear`.
 */
export class RedisSessionStore implements CompleteSessionStore {
  readonly #options: SchemaOutput<typeof optionsSchema>;
  readonly #connection: Connection;
  readonly #runner: ScriptRunner;
  readonly #seen = new SessionCache();

  /** `owner` is what errors about the options name: the class that the user constructs. */
  constructor(options: RedisSessionStoreOptions, owner = "RedisSessionStore") {
    this.#options = parseOptions(owner, optionsSchema(), options);
    const { client, url, config } = options;
    const { commandTimeout, waitReplicas, onEvent } = this.#options;
    this.#connection = openConnection(owner, { client, url, config }, commandTimeout);
    this.#runner = new ScriptRunner({ client: () => this.#connection.client(), commandTimeout, waitReplicas, onEvent });
  }

  async append(sessionId: string, request: AppendRequest): Promise<AppendResult> {
    const plan = planAppend(sessionId, request, this.#options);
    const at = this.#seen.get(sessionId)?.next ?? 0;
    const reply = await this.#script("append", sessionId, {
      script: appendScript,
      args: appendArguments(request, plan, at),
      writes: true,
    });
    const result = appendResult(sessionId, { reply, request, plan });
    this.#seen.note(sessionId, result.next, result.view);
    return result;
  }

  async readView(sessionId: string, { neverReduced = false }: ReadViewOptions = {}): Promise<SessionView> {
    const known = this.#seen.get(sessionId)?.view ?? (neverReduced ? { base: 0, start: 0 } : undefined);
    const seen = known && viewFrom(await readTail(this.#read("readView", sessionId, known.start - known.base)));
    const view =
      seen ??
      viewFrom(
        viewReply(await this.#script("readView", sessionId, { script: readViewScript, args: [], writes: false })),
      )!;
    this.#seen.note(sessionId, view.next, view);
    return view;
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
    const { head, discard, ...rest } = request;
    const scriptRequest = { ...rest, newRev: randomToken(), discard: discard !== undefined };
    const args = [JSON.stringify(scriptRequest), head, hashesOf(discard?.forget ?? [])];
    const word = await this.#write("commitReduction", sessionId, { script: commitReductionScript, args });
    if (word === "RANGE") {
      throw outOfRange("start");
    }
    return word === "COMMITTED" ? "committed" : "stale";
  }

  async rewind(sessionId: string, request: RewindRequest): Promise<"rewound" | "stale"> {
    checkRewind(sessionId, request);
    const { forget, ...rest } = request;
    const args = [JSON.stringify({ ...rest, newRev: randomToken() }), hashesOf(forget)];
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
    const request = { ...side.request, epoch: randomToken(), expects: expected.length / 3, ttl: changes.ttlMs };
    const args = [JSON.stringify(request), ...expected, ...side.args];
    return (await this.#script("writeSide", sessionId, { script: writeSideScript, keys, args, writes: true })) === "OK";
  }

  async acquireLease(sessionId: string, ttlMs: number): Promise<string | undefined> {
    checkInteger("ttlMs", ttlMs, 1);
    const { lease } = this.#keys(sessionId);
    const token = randomToken();
    const args = [lease, token, "NX", "PX", ttlMs];
    const reply = await this.#runner.command({ operation: "acquireLease", sessionId }, { verb: "set", args }, [lease]);
    return reply === null ? undefined : token;
  }

  async releaseLease(sessionId: string, token: string): Promise<void> {
    const keys = [this.#keys(sessionId).lease];
    await this.#script("releaseLease", sessionId, { script: releaseLeaseScript, keys, args: [token], writes: true });
  }

  async close(): Promise<void> {
    this.#runner.close();
    await this.#connection.close(this.#options.commandTimeout);
  }

  #read(operation: string, sessionId: string, index: number): Read {
    return { runner: this.#runner, name: { operation, sessionId }, keys: this.#keys(sessionId), index };
  }

  async #write(operation: string, sessionId: string, call: Pick<ScriptCall, "script" | "args">): Promise<unknown> {
    const reply = await this.#script(operation, sessionId, { script: call.script, args: call.args, writes: true });
    if (reply === "DAMAGED") {
      throw damaged(operation, sessionId);
    }
    return reply;
  }

  #script(
    operation: string,
    sessionId: string,
    call: Omit<ScriptCall, "keys"> & { keys?: readonly string[] },
  ): Promise<unknown> {
    const { log, ids, state } = this.#keys(sessionId);
    const { script, args, writes, keys = [log, ids, state] } = call;
    return this.#runner.run({ operation, sessionId }, { script, keys, args, writes });
  }

  #keys(sessionId: string): SessionKeys {
    return sessionKeys(this.#options.keyPrefix, sessionId);
  }
}

function hashesOf(ids: readonly string[]): string {
  return ids.map(idHash).join("");
}
