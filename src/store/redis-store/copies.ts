import { randomToken } from "../../base/ids.js";
import { dropCopy } from "../redis-lists/owner-erasure.js";
import type { SessionRef } from "../contract/session-ref.js";
import { askOf, runOnSession, askText } from "../redis/script-runner.js";
import { digestLength } from "../redis/stored-fields.js";
import { forkKeys, logSum, idHash, sha1 } from "../redis/keys.js";
import {
  finishCopyScript,
  readMarksScript,
  readStateScript,
  replaceSessionScript,
  stageCopyScript,
} from "../redis/lua/later-scripts.js";
import { markFrom } from "./append-call.js";
import type { CreatedFrom } from "../redis-lists/session-lists.js";
import type { Script } from "../redis/script.js";
import { checkCreated, textFields } from "../contract/session-data.js";
import type {
  CopiedRecord,
  CopyPage,
  CreatedSession,
  CreateRequest,
  KnownMarks,
  MarksRequest,
  NewState,
  ReplaceRequest,
  SessionCopies,
  WholeState,
} from "../contract/session-data.js";
import type { RedisCalls } from "./holds.js";
import { stateFields, wholeStateFrom } from "./session-data.js";

/** Time to live of what is staged after the last page, in milliseconds. */
export const stagingMs = 600_000;

/** Staged records: the names of their keys, and the position behind the last. */
interface StagedCopy {
  readonly keys: readonly string[];
  readonly next: number;
}

/**
 * Snapshots of whole sessions in Redis. A new session is staged page by page under keys of its own in the same slot;
 * one script renames them when it is complete.
 */
export class RedisCopies implements SessionCopies {
  readonly #calls: RedisCalls;

  constructor(calls: RedisCalls) {
    this.#calls = calls;
  }

  async read(session: SessionRef): Promise<WholeState | undefined> {
    const call = { script: readStateScript, args: [askText(session), ""], writes: false };
    const reply = (await this.#calls.script("readCopy", session, call)) as unknown[];
    return reply[0] === "NONE" ? undefined : wholeStateFrom(reply);
  }

  async readMarks(session: SessionRef, { turns = [], ids = [] }: MarksRequest): Promise<KnownMarks> {
    if (turns.length + ids.length === 0) {
      return { turns: [], digests: [] };
    }
    const args = [askText(session), turns.length, ...turns, ...ids.map(idHash)];
    const call = { script: readMarksScript, args, writes: false };
    const [, marks, texts] = (await this.#calls.script("readMarks", session, call)) as [string, string[], string[]];
    const digests = texts.map((text) => (text === "" ? undefined : text.slice(0, digestLength)));
    return { turns: marks.map(markFrom), digests };
  }

  async create(session: SessionRef, request: CreateRequest): Promise<CreatedSession | undefined> {
    return this.#staged(session, request, (copy) =>
      this.#listed(session, request, () => this.#finish(session, request, copy)),
    );
  }

  async replace(session: SessionRef, request: ReplaceRequest): Promise<"replaced" | "stale"> {
    const { was, now, key, openTurns } = request;
    const { epoch, cut, base, next, sum, owner } = was;
    const texts = textFields(now);
    const fields = Object.entries(textFields(was)).map(([name, text]) => [name, sha1(text), texts[name]!]);
    const scriptRequest = { ...askOf(session), epoch, cut, base, next, sum, key };
    const staged = { base, pages: () => request.pages(), owners: owner === undefined ? [] : [owner] };
    const replaced = await this.#staged(session, staged, async ({ keys }) => {
      const args = [JSON.stringify({ ...scriptRequest, turns: [...openTurns] }), ...fields.flat()];
      const [word] = await this.#run(session, replaceSessionScript, [...this.#keysOf(session), ...keys], args);
      return word === "REPLACED" ? "replaced" : undefined;
    });
    this.#calls.forget(session.id);
    return replaced ?? "stale";
  }

  #keysOf(session: SessionRef): string[] {
    const { log, ids, state } = this.#calls.placeOf(session).keys;
    return [log, ids, state];
  }

  /** Stages the records for `work`, and drops them where it makes no session of them. */
  async #staged<Result>(
    { id: sessionId }: SessionRef,
    request: Pick<CreateRequest, "base" | "pages" | "owners">,
    work: (copy: StagedCopy) => Promise<Result | undefined>,
  ): Promise<Result | undefined> {
    const { runner, keyPrefix } = this.#calls;
    const tag = randomToken();
    const { log, ids, state } = forkKeys(keyPrefix, sessionId, tag);
    const keys = [log, ids, state];
    let result: Result | undefined;
    try {
      const next = await this.#stagePages(sessionId, request, keys);
      return (result = next === undefined ? undefined : await work({ keys, next }));
    } finally {
      // Without this, staged records expire.
      const drop = async () => dropCopy({ runner, keyPrefix }, { sessionId, tag }).catch(() => undefined);
      await (result === undefined ? drop() : undefined);
    }
  }

  /** Stages the pages, and returns the position behind the last; undefined where those before have expired. */
  async #stagePages(
    id: string,
    { base, pages, owners: [owner = ""] = [] }: Pick<CreateRequest, "base" | "pages" | "owners">,
    keys: readonly string[],
  ): Promise<number | undefined> {
    let from = base;
    for await (const page of pages()) {
      if (page.records.length > 0) {
        const args = pageArguments(page, { from, base, ttl: stagingMs, owner });
        const [, reached] = await this.#run({ id }, stageCopyScript, keys, args);
        from += page.records.length;
        if (Number(reached) !== from) {
          return undefined;
        }
      }
    }
    return from;
  }

  /**
   * Lists the session for the owners of its data, then finishes it. The source is read last: an erasure before that
   * read erases the source, and a later one finds the entry and leaves its tombstone there.
   */
  async #listed(
    { id: sessionId }: SessionRef,
    { owners = [], ttlMs }: CreateRequest,
    finish: () => Promise<CreatedFrom<CreatedSession> | undefined>,
  ) {
    if (owners.length === 0) {
      return (await finish())?.created;
    }
    const written = [...new Set(owners)].map((owner) => ({ owner, sessionId, ttlMs }));
    return (await this.#calls.lists.load()).create(written, finish);
  }

  async #finish(
    session: SessionRef,
    request: CreateRequest,
    { keys, next }: StagedCopy,
  ): Promise<CreatedFrom<CreatedSession> | undefined> {
    const state = await request.finish(next);
    if (state === undefined) {
      return undefined;
    }
    checkCreated(state, { base: request.base, next });
    const epoch = randomToken();
    const args = finishArguments(state, { session, request, epoch, next });
    const [word] = await this.#run(session, finishCopyScript, [...this.#keysOf(session), ...keys], args);
    const { owner, updatedAt } = state;
    return word === "FORKED" ? { created: { epoch, next }, owner, updatedAt } : undefined;
  }

  async #run(
    { id: sessionId }: SessionRef,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown[]> {
    const call = { script, keys, args, writes: true };
    return (await runOnSession(this.#calls.runner, { operation: "createCopy", sessionId }, call)) as unknown[];
  }
}

/** The arguments of the script that adds a page. */
function pageArguments(
  { records, turns }: CopyPage,
  place: { readonly from: number; readonly base: number; readonly ttl: number; readonly owner: string },
): string[] {
  const { from } = place;
  const identities = records.flatMap((record, index) => identityOf(record, from + index));
  const marks = turns.flatMap(({ name, count, first, doneAt = 0 }) => [
    name,
    String(count),
    String(first),
    String(doneAt),
  ]);
  const texts = records.map(({ record }) => record);
  const request = { ...place, count: records.length, sum: logSum(texts), turns: turns.length };
  return [JSON.stringify(request), ...identities, ...marks, ...texts];
}

/** The hash of a record's id, a substitute if that hash is taken, and the value of both in `ids`. */
export function identityOf({ identity }: Pick<CopiedRecord, "identity">, position: number): [string, string, string] {
  const unknown = idHash(`\u0000unreadable\u0000${position}`);
  const hash = identity === undefined ? unknown : idHash(identity.id);
  return [hash, unknown, (identity?.digest ?? "-".repeat(digestLength)) + String(position)];
}

interface Finish {
  readonly session: SessionRef;
  readonly request: CreateRequest;
  readonly epoch: string;
  readonly next: number;
}

/** The arguments of the script that turns the staged keys into the session. */
function finishArguments(state: NewState, { session, request, epoch, next }: Finish): string[] {
  const { base, ttlMs: ttl } = request;
  const { expiresAt, knownIds = [] } = state;
  const known = knownIds.flatMap(({ id, digest }) => [idHash(id), `${digest}-1`]);
  const scriptRequest = JSON.stringify({ epoch, base, next, known, ttl, expiresAt });
  return [scriptRequest, ...stateFields(state, { key: session.keys?.made, base, next })];
}
