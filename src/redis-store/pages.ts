import { otherOwner } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import {
  checkPageRequest,
  type SessionPages,
  type StoredPage,
  type StoredPageRequest,
  type StoredReduction,
  type StoredStats,
} from "../store/session-pages.js";
import { idHash } from "../redis/id-hash.js";
import { sessionKeys } from "../redis/keys.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { readStatsScript, readWindowScript } from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";

/** Pages and figures of sessions in Redis: one script each, one round trip. */
export class RedisPages implements SessionPages {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  async readPage(session: SessionRef, request: StoredPageRequest): Promise<StoredPage | undefined> {
    checkPageRequest(request);
    const args = [...placeOf(request), request.limit, session.owner ?? ""];
    const reply = (await this.#run("readPage", session.id, readWindowScript, args)) as unknown[];
    if (reply[0] !== "PAGE") {
      return undefined;
    }
    const [from, to, base, start, next, damaged] = reply.slice(1, 7).map(Number) as FixedNumbers;
    const [head, records, epoch, rev] = reply.slice(7) as [string, string[], string, string];
    return { epoch, rev, records, from, to, base, start, next, head, damaged: damaged === 1 };
  }

  async readStats({ id, owner = "" }: SessionRef): Promise<StoredStats | undefined> {
    const reply = (await this.#run("readStats", id, readStatsScript, [owner])) as unknown[];
    const [epoch, length, rounds, viewMessages, tokens, counter, whole, reductions, ...rest] = reply;
    const [created, updated, expires, damaged] = rest;
    if (epoch === "" && Number(length) === 0) {
      return undefined;
    }
    return {
      messages: Number(length),
      rounds: Number(rounds),
      // The start of a damaged session may lie behind its end.
      viewMessages: Math.max(0, Number(viewMessages)),
      viewTokens: numberOr(tokens),
      counter: String(counter),
      isWhole: Number(whole) === 1,
      reductions: Number(reductions),
      createdAt: numberOr(created),
      updatedAt: numberOr(updated),
      expiresAt: numberOr(expires),
      damaged: Number(damaged) === 1,
    };
  }

  async readReductions({ id: sessionId, owner }: SessionRef): Promise<readonly StoredReduction[]> {
    const { state } = sessionKeys(this.#keyPrefix, sessionId);
    const name = { operation: "readReductions", sessionId };
    const [fields] = await this.#runner.transaction(name, [{ verb: "hmget", args: [state, "reductions", "owner"] }]);
    const [lines, stored] = fields as (string | null)[];
    if (owner !== undefined && (stored ?? owner) !== owner) {
      throw otherOwner(sessionId);
    }
    return String(lines ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as StoredReduction);
  }

  async #run(
    operation: string,
    sessionId: string,
    script: Script,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, sessionId);
    const call = { script, keys: [log, ids, state], args, writes: false };
    const reply = await this.#runner.run({ operation, sessionId }, call);
    if (Array.isArray(reply) && reply[0] === "OWNER") {
      throw otherOwner(sessionId);
    }
    return reply;
  }
}

type FixedNumbers = [from: number, to: number, base: number, start: number, next: number, damaged: number];

function placeOf({ before, after, around, since }: StoredPageRequest): [kind: string, place: string | number] {
  const id = around ?? since;
  if (id !== undefined) {
    return [around === undefined ? "since" : "around", idHash(id)];
  }
  return before !== undefined ? ["before", before] : after !== undefined ? ["after", after] : ["newest", ""];
}

function numberOr(value: unknown): number | undefined {
  return value === "" ? undefined : Number(value);
}
