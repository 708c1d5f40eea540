import { refuseOwner } from "../store/refusals.js";
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
import { askText } from "../redis/ask.js";
import { runOnSession } from "../redis/script-runner.js";
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
    const args = [...placeOf(request), request.limit];
    const reply = (await this.#run("readPage", session, readWindowScript, args)) as unknown[];
    if (reply[0] !== "PAGE") {
      return undefined;
    }
    const [from, to, base, start, next, damaged] = reply.slice(1, 7).map(Number) as FixedNumbers;
    const [head, records, epoch, rev] = reply.slice(7) as [string, string[], string, string];
    return { epoch, rev, records, from, to, base, start, next, head, damaged: damaged === 1 };
  }

  async readStats(session: SessionRef): Promise<StoredStats | undefined> {
    const [, ...reply] = (await this.#run("readStats", session, readStatsScript, [])) as unknown[];
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

  async readReductions(session: SessionRef): Promise<readonly StoredReduction[]> {
    const { state } = sessionKeys(this.#keyPrefix, session.id);
    const name = { operation: "readReductions", sessionId: session.id };
    const [fields] = await this.#runner.transaction(name, [{ verb: "hmget", args: [state, "reductions", "owner"] }]);
    const [lines, stored] = fields as (string | null)[];
    refuseOwner(session, stored);
    return String(lines ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as StoredReduction);
  }

  async #run(
    operation: string,
    session: SessionRef,
    script: Script,
    args: readonly (string | number)[],
  ): Promise<unknown> {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, session.id);
    const call = { script, keys: [log, ids, state], args: [askText(session), ...args], writes: false };
    return runOnSession(this.#runner, { operation, sessionId: session.id }, call);
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
