import { shortHash } from "../../short-hash.js";
import { randomToken } from "../random-token.js";
import { alreadyExists, damaged, erased, forkConflict, positionConflict, refuseUnlessKnown } from "../refusals.js";
import { checkFork, isCopiedField, type ForkedSession, type ForkRequest, type SessionForks } from "../session-forks.js";
import { forkPageArguments, type SourcePage } from "./fork-call.js";
import { forkKeys, sessionKeys, type SessionKeys } from "./keys.js";
import type { ScriptRunner } from "./script-runner.js";
import { finishForkScript } from "./scripts/finish-fork.js";
import { openForkScript } from "./scripts/open-fork.js";
import { readForkPageScript } from "./scripts/read-fork-page.js";
import { readStateScript } from "./scripts/read-state.js";
import type { Script } from "./scripts/script.js";
import { stageForkScript } from "./scripts/stage-fork.js";

const attempts = 3;
const pageRecords = 500;
const pageBytes = 1_000_000;
/** How long a copy that nobody goes on with is kept. */
const stagingMs = 600_000;

/** A copy under way: its source as it was first seen, and the keys of both sides. */
interface Copy {
  readonly request: ForkRequest;
  readonly sessionId: string;
  readonly newSessionId: string;
  readonly source: SessionKeys;
  readonly target: SessionKeys;
  readonly staging: Pick<SessionKeys, "log" | "ids" | "state">;
  readonly epoch: string;
  readonly cut: string;
  readonly base: number;
  readonly to: number;
}

/**
 * Copies of sessions in Redis, from slot to slot. A copy grows page by page under keys that no session has, and becomes
 * a session by being renamed.
 */
export class RedisForks implements SessionForks {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;

  constructor(runner: ScriptRunner, keyPrefix: string) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
  }

  async fork(sessionId: string, newSessionId: string, request: ForkRequest): Promise<ForkedSession | undefined> {
    checkFork(sessionId, newSessionId, request);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const outcome = await this.#try(sessionId, newSessionId, request);
      if (outcome !== "changed") {
        return outcome;
      }
    }
    throw forkConflict(sessionId);
  }

  async #try(
    sessionId: string,
    newSessionId: string,
    request: ForkRequest,
  ): Promise<ForkedSession | "changed" | undefined> {
    const source = sessionKeys(this.#keyPrefix, sessionId);
    const first = await this.#readSource({ sessionId, source, to: request.at });
    if (first.damaged) {
      throw damaged("fork", sessionId);
    }
    if (first.epoch === "") {
      return undefined;
    }
    refuseUnlessKnown(sessionId, first.key, request.keys);
    if ((request.at ?? 0) > first.next) {
      throw positionConflict(sessionId, request.at!, first.next);
    }
    const { epoch, cut, base } = first;
    const tag = shortHash(JSON.stringify([sessionId, epoch, cut, base, request.at, request.key]), 14);
    const staging = forkKeys(this.#keyPrefix, newSessionId, tag);
    const target = sessionKeys(this.#keyPrefix, newSessionId);
    const to = Math.max(base, request.at ?? first.next);
    const copy = { request, sessionId, newSessionId, source, target, staging, epoch, cut, base, to };
    const reached = await this.#copyPages(copy, first);
    return reached === "changed" ? reached : this.#finish(copy, Math.max(to, reached));
  }

  /** Copies what is missing; returns the position that was reached. */
  async #copyPages(copy: Copy, first: SourcePage): Promise<number | "changed"> {
    const { newSessionId, target, staging, base, to } = copy;
    const keys = [target.log, target.ids, target.state, staging.state];
    const [word, next] = (await this.#run(newSessionId, openForkScript, keys, [])) as [string, string?];
    refuseTaken(newSessionId, word);
    let position = next === "" ? base : Number(next);
    while (position < to) {
      const page = position === base ? first : await this.#readSource({ ...copy, from: position });
      if (page.epoch !== copy.epoch || page.cut !== copy.cut || page.base > position || page.records.length === 0) {
        return "changed";
      }
      const reached = await this.#stage(copy, { ...page, from: position });
      if (reached === "") {
        return "changed";
      }
      position = Number(reached);
    }
    return position;
  }

  async #stage({ sessionId, newSessionId, source, staging, base, request }: Copy, page: SourcePage): Promise<string> {
    const marksOf = async (names: readonly string[]) => {
      const command = { verb: "hmget", args: [source.ids, ...names] };
      const [marks] = await this.#runner.transaction({ operation: "fork", sessionId }, [command]);
      return marks as (string | null)[];
    };
    const args = await forkPageArguments(page, { base, ttl: stagingMs, copyRecord: request.copyRecord, marksOf });
    const keys = [staging.log, staging.ids, staging.state];
    return String(await this.#run(newSessionId, stageForkScript, keys, args));
  }

  async #finish(copy: Copy, next: number): Promise<ForkedSession | "changed"> {
    const { request, sessionId, newSessionId, source, target, staging, base } = copy;
    const reply = (await this.#run(sessionId, readStateScript, [source.state], [])) as string[];
    const state = new Map(reply.flatMap((name, index) => (index % 2 === 0 ? [[name, reply[index + 1]!]] : [])));
    if (state.get("epoch") !== copy.epoch || (state.get("cut") ?? "") !== copy.cut) {
      return "changed";
    }
    const epoch = randomToken();
    const names = next > base ? (state.get("turns") ?? "") : "";
    const fields = fieldsOfCopy(state, { request, base, next, turns: names });
    const args = [JSON.stringify({ epoch, base, next, ttl: request.ttlMs }), names, ...fields];
    const keys = [...[target.log, target.ids, target.state], ...[staging.log, staging.ids, staging.state]];
    const word = await this.#run(newSessionId, finishForkScript, keys, args);
    refuseTaken(newSessionId, word);
    return word === "FORKED" ? { epoch, next: next > base ? next : 0 } : "changed";
  }

  async #readSource(read: {
    readonly sessionId: string;
    readonly source: SessionKeys;
    readonly from?: number;
    readonly to: number | undefined;
  }): Promise<SourcePage> {
    const { log, ids, state } = read.source;
    const args = [read.from ?? "", read.to ?? "", pageRecords, pageBytes];
    const reply = (await this.#run(read.sessionId, readForkPageScript, [log, ids, state], args)) as unknown[];
    const [epoch, cut, base, next, isDamaged, records, key] = reply;
    return {
      ...{ epoch: String(epoch), cut: String(cut), base: Number(base), next: Number(next) },
      ...{ from: read.from ?? Number(base), damaged: Number(isDamaged) === 1, key: String(key) },
      records: records as string[],
    };
  }

  #run(sessionId: string, script: Script, keys: string[], args: readonly (string | number)[]): Promise<unknown> {
    const writes = script === stageForkScript || script === finishForkScript;
    return this.#runner.run({ operation: "fork", sessionId }, { script, keys, args, writes });
  }
}

/** Refuses a copy where there is a session, or the guard of one that was erased. */
function refuseTaken(newSessionId: string, word: unknown): void {
  if (word === "EXISTS") {
    throw alreadyExists(newSessionId);
  }
  if (word === "ERASED") {
    throw erased("fork", newSessionId);
  }
}

/** Fields of the new session's `state` besides its numbers: the view's where it is in the copy, and what it keeps. */
function fieldsOfCopy(
  state: ReadonlyMap<string, string>,
  copy: { readonly request: ForkRequest; readonly base: number; readonly next: number; readonly turns: string },
): string[] {
  const { fields = {}, copyField = (_, text) => text } = copy.request;
  const kept = [...state].filter(([name]) => isCopiedField(name) && !Object.hasOwn(fields, name));
  const key = copy.request.key === undefined ? [] : [["key", copy.request.key]];
  const pairs = [...key, ...kept.map(([name, text]) => [name, copyField(name, text)]), ...Object.entries(fields)];
  if (copy.next > copy.base) {
    const start = Number(state.get("start") ?? 0);
    const isWhole = start > copy.next;
    pairs.push(["start", String(isWhole ? copy.base : start)]);
    const head = isWhole ? "" : (state.get("head") ?? "");
    pairs.push(
      ...(head === ""
        ? []
        : [
            ["head", copyField("head", head)],
            ["headCount", state.get("headCount") ?? "0"],
          ]),
    );
    pairs.push(...(copy.turns === "" ? [] : [["turns", copy.turns]]));
  }
  return pairs.flat();
}
