import { MemoryError } from "../base/errors.js";
import { shortHash, randomToken } from "../base/ids.js";
import { forkConflict, positionConflict, refuseDiscarded } from "../store/refusals.js";
import {
  checkFork,
  stagingMs,
  type ForkedSession,
  type ForkRequest,
  type SessionForks,
} from "../store/session-forks.js";
import type { SessionRef } from "../store/session-ref.js";
import { fieldPairs } from "./whole-state.js";
import { forkKeys, sessionKeys, type SessionKeys } from "../redis/keys.js";
import { forkPageArguments, type SourcePage } from "./fork-call.js";
import { fieldsOfCopy, headHashes, knownToCopy } from "./fork-state.js";
import { dropCopy } from "../redis-lists/owner-erasure.js";
import type { RedisLists } from "../redis-lists/session-lists.js";
import { type ScriptRunner, askText, runOnSession } from "../redis/script-runner.js";
import {
  finishForkScript,
  openForkScript,
  readForkPageScript,
  readMarksScript,
  readStateScript,
  stageForkScript,
} from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";

const attempts = 3;
const pageRecords = 500;
const pageBytes = 1_000_000;

/** A copy under way: its source as it was first seen, and the keys of both sides. */
interface Forking {
  readonly request: ForkRequest;
  readonly session: SessionRef;
  /** The new session. */
  readonly copy: SessionRef;
  readonly source: SessionKeys;
  readonly target: SessionKeys;
  readonly tag: string;
  readonly staging: Pick<SessionKeys, "log" | "ids" | "state">;
  /** The copy's owner. */
  readonly owner: string | undefined;
  readonly sourceOwner: string | undefined;
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
  readonly #index: RedisLists;

  constructor(runner: ScriptRunner, keyPrefix: string, index: RedisLists) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
    this.#index = index;
  }

  async fork(session: SessionRef, copy: SessionRef, request: ForkRequest): Promise<ForkedSession | undefined> {
    checkFork(session, copy, request);
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const outcome = await this.#try(session, copy, request);
      if (outcome !== "changed") {
        return outcome;
      }
    }
    throw forkConflict(session.id);
  }

  async #try(
    session: SessionRef,
    copy: SessionRef,
    request: ForkRequest,
  ): Promise<ForkedSession | "changed" | undefined> {
    const { id: sessionId } = session;
    const source = sessionKeys(this.#keyPrefix, sessionId);
    const first = await this.#readSource({ session, source, to: request.at });
    if (first.epoch === "") {
      return undefined;
    }
    if ((request.at ?? 0) > first.next) {
      throw positionConflict(sessionId, request.at!, first.next);
    }
    refuseDiscarded(sessionId, request.at, first);
    const { epoch, cut, base } = first;
    const tag = shortHash(JSON.stringify([sessionId, epoch, cut, base, request.at, copy.keys?.current]), 14);
    const staging = forkKeys(this.#keyPrefix, copy.id, tag);
    const target = sessionKeys(this.#keyPrefix, copy.id);
    const to = Math.max(base, request.at ?? first.next);
    const sourceOwner = first.owner === "" ? undefined : first.owner;
    const owner = copy.owner ?? sourceOwner;
    const places = { session, copy, source, target, staging, tag };
    const outcome = await this.#make({ ...places, request, owner, sourceOwner, epoch, cut, base, to }, first);
    if (outcome === "changed") {
      await this.#drop(copy.id, tag);
    }
    return outcome;
  }

  async #make(work: Forking, first: SourcePage): Promise<ForkedSession | "changed"> {
    const reached = await this.#copyPages(work, first);
    if (reached === "changed") {
      return reached;
    }
    // Announced before the source is read for the last time: an erasure of its owner that the source has outlived until
    // then finds the copy, and puts its guard in the copy's place. So does one of the copy's owner.
    const { owner, sourceOwner, request, to } = work;
    const newSessionId = work.copy.id;
    const announced = { ttlMs: request.ttlMs, wrote: (result: ForkedSession | "changed") => result !== "changed" };
    const finish = () => this.#finish(work, Math.max(to, reached));
    const write = () => this.#index.followAnnounced(newSessionId, { ...announced, owner, write: finish });
    return sourceOwner === undefined || sourceOwner === owner
      ? write()
      : this.#index.followAnnounced(newSessionId, { ...announced, owner: sourceOwner, write });
  }

  /** Copies what is missing; returns the position that was reached. */
  async #copyPages(work: Forking, first: SourcePage): Promise<number | "changed"> {
    const { target, staging, base, to } = work;
    const newSessionId = work.copy.id;
    const keys = [target.log, target.ids, target.state, staging.state];
    const [, next] = await this.#run(newSessionId, openForkScript, keys, []);
    let position = next === "" ? base : Number(next);
    while (position < to) {
      // From the last record that was copied on, so that the page is known to be of the same log.
      const from = Math.max(base, position - 1);
      const page = position === base ? first : await this.#readSource({ ...work, from });
      const records = page.records.slice(position - from);
      if (page.epoch !== work.epoch || page.cut !== work.cut || page.base > from || records.length === 0) {
        return "changed";
      }
      const before = position === base ? undefined : page.records[0];
      const reached = await this.#stage(work, { ...page, from: position, records, before });
      if (reached === "") {
        return "changed";
      }
      position = Number(reached);
    }
    return position;
  }

  async #stage({ session, copy, source, staging, base, request }: Forking, page: SourcePage): Promise<string> {
    const marksOf = async (names: readonly string[]) => {
      const keys = [source.log, source.ids, source.state];
      const [, marks] = await this.#run(session.id, readMarksScript, keys, [askText(session), ...names]);
      return marks as string[];
    };
    const args = await forkPageArguments(page, { base, ttl: stagingMs, copyRecord: request.copyRecord, marksOf });
    const keys = [staging.log, staging.ids, staging.state];
    const [, reached] = await this.#run(copy.id, stageForkScript, keys, args);
    return String(reached);
  }

  async #finish(work: Forking, next: number): Promise<ForkedSession | "changed"> {
    const { request, session, source, target, staging, base } = work;
    const newSessionId = work.copy.id;
    const [, ...list] = await this.#run(session.id, readStateScript, [source.state], [askText(session)]);
    const state = fieldPairs(list as string[]);
    const isAsRead = state.get("epoch") === work.epoch && (state.get("cut") ?? "") === work.cut;
    if (!isAsRead || state.get("owner") !== work.sourceOwner) {
      return "changed";
    }
    const hasLog = next > base || (base > 0 && (request.at ?? base) >= base);
    const epoch = randomToken();
    const names = hasLog ? (state.get("turns") ?? "") : "";
    const fields = fieldsOfCopy(state, { copy: work.copy, request, base, next, turns: names, hasLog });
    const marks = Number(state.get("start") ?? 0) > next ? [] : await this.#headMarks(work, state);
    const { discarded, known } = knownToCopy(state, { copy: work.copy, hasLog, marks });
    const args = [
      JSON.stringify({ epoch, base, next, hasLog, known, turns: [], ttl: request.ttlMs }),
      names,
      discarded,
      ...fields,
    ];
    const keys = [...[target.log, target.ids, target.state], ...[staging.log, staging.ids, staging.state]];
    const [word] = await this.#run(newSessionId, finishForkScript, keys, args).catch(async (error: unknown) => {
      // Nobody can go on with the copy where its place is taken.
      await (MemoryError.isInstance(error) && /^(erased|exists)$/.test(String((error as { code?: unknown }).code))
        ? this.#drop(newSessionId, work.tag)
        : undefined);
      throw error;
    });
    return word === "FORKED" ? { epoch, next: hasLog ? next : 0 } : "changed";
  }

  /** Removes a copy that nobody can go on with: its source has changed, or its place is taken. */
  async #drop(sessionId: string, tag: string): Promise<void> {
    await dropCopy({ runner: this.#runner, keyPrefix: this.#keyPrefix }, { sessionId, tag });
  }

  /** What the source knows of messages in its head whose records were discarded: hashes, and what they stand for. */
  async #headMarks({ request, session, source, base }: Forking, state: ReadonlyMap<string, string>): Promise<string[]> {
    const hashes = base === 0 ? [] : headHashes(request, state.get("head") ?? "");
    if (hashes.length === 0) {
      return [];
    }
    const [marks] = (await this.#runner.transaction({ operation: "fork", sessionId: session.id }, [
      { verb: "hmget", args: [source.ids, ...hashes] },
    ])) as [(string | null)[]];
    return hashes.flatMap((hash, index) => (marks[index] === null ? [] : [hash, marks[index]!]));
  }

  async #readSource(read: {
    readonly session: SessionRef;
    readonly source: SessionKeys;
    readonly from?: number;
    readonly to: number | undefined;
  }): Promise<SourcePage> {
    const { log, ids, state } = read.source;
    const args = [askText(read.session), read.from ?? "", read.to ?? "", pageRecords, pageBytes];
    const [, ...reply] = await this.#run(read.session.id, readForkPageScript, [log, ids, state], args);
    const [epoch, cut, base, next, records, key, owner] = reply;
    return {
      ...{ epoch: String(epoch), cut: String(cut), base: Number(base), next: Number(next) },
      ...{ from: read.from ?? Number(base), key: String(key), owner: String(owner) },
      records: records as string[],
    };
  }

  async #run(
    sessionId: string,
    script: Script,
    keys: string[],
    args: readonly (string | number)[],
  ): Promise<unknown[]> {
    const writes = script === stageForkScript || script === finishForkScript;
    const name = { operation: "fork", sessionId };
    return (await runOnSession(this.#runner, name, { script, keys, args, writes })) as unknown[];
  }
}
