import { randomToken } from "../base/ids.js";
import { transferLost } from "../store/refusals.js";
import type { SessionRef } from "../store/session-ref.js";
import {
  checkCreate,
  checkCreated,
  type CreatedSession,
  type CreateRequest,
  type SessionTransfers,
  type WholeState,
} from "../store/session-transfers.js";
import type { TurnMark } from "../store/turns.js";
import { stagedPage } from "./fork-call.js";
import { forkKeys, sessionKeys } from "../redis/keys.js";
import type { RedisLists } from "../redis-lists/session-lists.js";
import { type ScriptRunner, askText, runOnSession } from "../redis/script-runner.js";
import {
  finishForkScript,
  openForkScript,
  readMarksScript,
  readWholeStateScript,
  stageForkScript,
} from "../redis/lua/scripts.js";
import type { Script } from "../redis/script.js";
import { markFrom } from "./turn-marks.js";
import { stateFields, wholeStateFrom } from "./whole-state.js";

/** How long an import that nobody goes on with is kept. */
const stagingMs = 600_000;

/**
 * Whole sessions out of Redis and into it. A session that is created grows page by page under keys that no session has,
 * as a copy does, and becomes a session by being renamed.
 */
export class RedisTransfers implements SessionTransfers {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #index: RedisLists;

  constructor(runner: ScriptRunner, keyPrefix: string, index: RedisLists) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
    this.#index = index;
  }

  async readState(session: SessionRef): Promise<WholeState | undefined> {
    const { log, ids, state } = sessionKeys(this.#keyPrefix, session.id);
    const call = { script: readWholeStateScript, keys: [log, ids, state], args: [askText(session)], writes: false };
    const name = { operation: "readState", sessionId: session.id };
    const reply = (await runOnSession(this.#runner, name, call)) as unknown[];
    return reply[0] === "NONE" ? undefined : wholeStateFrom(reply);
  }

  async readTurns(session: SessionRef, names: readonly string[]): Promise<readonly (TurnMark | undefined)[]> {
    if (names.length === 0) {
      return [];
    }
    const { log, ids, state } = sessionKeys(this.#keyPrefix, session.id);
    const args = [askText(session), ...names];
    const call = { script: readMarksScript, keys: [log, ids, state], args, writes: false };
    const name = { operation: "readTurns", sessionId: session.id };
    const [, marks] = (await runOnSession(this.#runner, name, call)) as [string, string[]];
    return marks.map(markFrom);
  }

  async create(session: SessionRef, request: CreateRequest): Promise<CreatedSession> {
    checkCreate(session, request);
    const { id: sessionId, keys } = session;
    const { log, ids, state } = sessionKeys(this.#keyPrefix, sessionId);
    const staging = forkKeys(this.#keyPrefix, sessionId, randomToken());
    await this.#run(sessionId, openForkScript, [log, ids, state, staging.state], []);
    const stagingKeys = [staging.log, staging.ids, staging.state];
    const { base, expiresAt, discardedTurns, owner = "" } = request.state;
    let next = base;
    for await (const { records, marks } of request.pages) {
      const turns = marks.map(({ name, done, count, first }) => ({ name, count, first, done: done ? count : 0 }));
      const args = stagedPage(records, { from: next, base, ttl: stagingMs, owner, turns });
      const [, reached] =
        records.length === 0 ? ["", next] : await this.#run(sessionId, stageForkScript, stagingKeys, args);
      if (Number(reached) !== next + records.length || reached === "") {
        throw transferLost(sessionId);
      }
      next += records.length;
    }
    checkCreated(request.state, next);
    const epoch = randomToken();
    const turns = discardedTurns.map(({ name, done, count, first }) => [name, done, count, first]);
    const call = JSON.stringify({ epoch, base, next, hasLog: next > 0, known: [], turns, expiresAt });
    const args = [call, "", "", ...stateFields(request.state, { key: keys?.current, next })];
    const write = async () => {
      const [finished] = await this.#run(sessionId, finishForkScript, [log, ids, state, ...stagingKeys], args);
      if (finished !== "FORKED") {
        throw transferLost(sessionId);
      }
      return { epoch, next };
    };
    return this.#index.followAnnounced(sessionId, { owner: request.state.owner, listed: "place", write });
  }

  async #run(sessionId: string, script: Script, keys: string[], args: readonly string[]): Promise<unknown[]> {
    const call = { script, keys, args, writes: script !== openForkScript };
    return (await runOnSession(this.#runner, { operation: "create", sessionId }, call)) as unknown[];
  }
}
