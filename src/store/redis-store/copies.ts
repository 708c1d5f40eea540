import { MemoryError } from "../../base/errors.js";
import { dropCopy } from "../redis-lists/owner-erasure.js";
import type { CreatedFrom } from "../redis-lists/session-lists.js";
import { askOf, askText, runOnSession } from "../redis/script-runner.js";
import { digestLength } from "../redis/stored-fields.js";
import { forkKeys, idHash, sha1 } from "../redis/keys.js";
import {
  finishCopyScript,
  openCopyScript,
  readCopyScript,
  readMarksScript,
  replaceSessionScript,
  stageCopyScript,
} from "../redis/lua/later-scripts.js";
import type { Script } from "../redis/script.js";
import {
  checkCreated,
  textFields,
  type CopiedRecord,
  type CopyPage,
  type CreatedSession,
  type CreateRequest,
  type KnownMarks,
  type MarksRequest,
  type NewState,
  type ReplaceRequest,
  type SessionCopies,
  type WholeState,
} from "../contract/copies.js";
import { randomToken } from "../../base/ids.js";
import type { SessionRef } from "../contract/session-ref.js";
import { keyParts } from "../contract/writer-keys.js";
import type { RedisCalls } from "./calls.js";
import { logSum } from "../redis/keys.js";
import { markFrom } from "./turn-marks.js";
import { stateFields, wholeStateFrom } from "./whole-state.js";

/** Time to live of staged records after the last page in milliseconds, without and with a tag. */
const stagingMs = { untagged: 600_000, tagged: 300_000 };

/** A session that is being copied. */
interface Creation {
  readonly session: SessionRef;
  readonly request: Omit<CreateRequest, "finish">;
  readonly tag: string;
  /** Names of its final keys, and of the staging keys. */
  readonly target: readonly string[];
  readonly staging: readonly string[];
}

interface NewSession extends Creation {
  readonly request: CreateRequest;
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
    const call = { script: readCopyScript, args: [askText(session)], writes: false };
    const reply = (await this.#calls.script("readCopy", session, call)) as unknown[];
    return reply[0] === "NONE" ? undefined : wholeStateFrom(reply);
  }

  async readMarks(session: SessionRef, { turns = [], ids = [] }: MarksRequest): Promise<KnownMarks> {
    if (turns.length + ids.length === 0) {
      return { turns: [], digests: [] };
    }
    const args = [askText(session), turns.length, ...turns, ...ids.map(idHash)];
    const call = { script: readMarksScript, args, writes: false };
    const [, marks, known] = (await this.#calls.script("readMarks", session, call)) as [string, string[], string[]];
    const digests = known.map((text) => (text === "" ? undefined : text.slice(0, digestLength)));
    return { turns: marks.map(markFrom), digests };
  }

  async create(session: SessionRef, request: CreateRequest): Promise<CreatedSession | undefined> {
    const creation = { ...this.#placesOf(session, request.tag ?? randomToken()), request };
    const next = await this.#stage(creation, askText(session));
    return next === undefined ? undefined : this.#listed(creation, () => this.#finish(creation, next));
  }

  async replace(session: SessionRef, request: ReplaceRequest): Promise<"replaced" | "stale"> {
    const { was, now, key, openTurns, tag } = request;
    const writer = { ...session, keys: key && { name: keyParts(key).name, made: key } };
    const { base, owner } = was;
    const staged = { base, pages: (from: number) => request.pages(from), tag, owners: owner ? [owner] : [] };
    const copy = { ...this.#placesOf(writer, tag), request: staged };
    if ((await this.#stage(copy, JSON.stringify({ ...askOf(writer), isReplacing: true }))) === undefined) {
      return "stale";
    }
    const texts = textFields(now);
    const fields = Object.entries(textFields(was)).map(([name, text]) => [name, sha1(text), texts[name]!]);
    const { epoch, cut, next, sum } = was;
    const asked = { ...askOf(session), epoch, cut, base, next, sum, key, turns: [...openTurns] };
    const args = [JSON.stringify(asked), ...fields.flat()];
    const [word] = await this.#run(session, replaceSessionScript, [...copy.target, ...copy.staging], args);
    this.#calls.forget(session.id);
    return word === "REPLACED" ? "replaced" : "stale";
  }

  #placesOf(session: SessionRef, tag: string): Pick<Creation, "session" | "tag" | "target" | "staging"> {
    const { keys } = this.#calls.placeOf(session);
    const staged = forkKeys(this.#calls.keyPrefix, session.id, tag);
    const target = [keys.log, keys.ids, keys.state];
    return { session, tag, target, staging: [staged.log, staged.ids, staged.state] };
  }

  /** Stages what is not staged yet, and returns the position behind it; undefined, without a copy, as #stagePages. */
  async #stage(creation: Creation, asked: string): Promise<number | undefined> {
    const { session, request, target, staging } = creation;
    const [, reached] = await this.#run(session, openCopyScript, [...target, staging[2]!], [asked]);
    const next = await this.#stagePages(creation, reached === "" ? request.base : Number(reached));
    await (next === undefined ? this.#drop(creation) : undefined);
    return next;
  }

  /**
   * Stages the pages from a position on, and returns the position behind the last; undefined if one does not continue.
   */
  async #stagePages({ session, request, tag, staging }: Creation, from: number): Promise<number | undefined> {
    const { base, owners: [owner = ""] = [] } = request;
    const ttl = tag === request.tag ? stagingMs.tagged : stagingMs.untagged;
    let position = from;
    for (let isWhole = false; !isWhole;) {
      isWhole = true;
      for await (const page of request.pages(position)) {
        const { keys } = askOf(session);
        const args = pageArguments(page, { from: position, base, ttl, owner, keys });
        const [, reached] =
          page.records.length === 0 ? ["", position] : await this.#run(session, stageCopyScript, staging, args);
        if (reached === "") {
          return undefined;
        }
        // Another process may have staged more of the same copy.
        isWhole = Number(reached) === position + page.records.length;
        position = Number(reached);
        if (!isWhole) {
          break;
        }
      }
    }
    return position;
  }

  /**
   * Lists the session for the owners of its data, then finishes it. The source is read last: an erasure before that
   * read erases the source, and a later one finds the entry and leaves its tombstone there.
   */
  async #listed(
    { session, request: { owners = [], ttlMs } }: Creation,
    finish: () => Promise<CreatedFrom<CreatedSession> | undefined>,
  ) {
    if (owners.length === 0) {
      return (await finish())?.created;
    }
    const written = [...new Set(owners)].map((owner) => ({ owner, sessionId: session.id, ttlMs }));
    return (await this.#calls.lists.load()).create(written, finish);
  }

  async #finish(creation: NewSession, next: number): Promise<CreatedFrom<CreatedSession> | undefined> {
    const { session, request, target, staging } = creation;
    const state = await request.finish(next);
    if (state === undefined) {
      await this.#drop(creation);
      return undefined;
    }
    checkCreated(state, { base: request.base, next });
    const epoch = randomToken();
    const args = finishArguments(state, { session, request, epoch, next });
    const [word] = await this.#run(session, finishCopyScript, [...target, ...staging], args).catch(async (error) => {
      // If its id is taken, no retry can resume it.
      await (MemoryError.isInstance(error) && /^(erased|exists)$/.test(String((error as { code?: unknown }).code))
        ? this.#drop(creation)
        : undefined);
      throw error;
    });
    const { owner, updatedAt } = state;
    return word === "FORKED" ? { created: { epoch, next }, owner, updatedAt } : undefined;
  }

  async #drop({ session, tag }: Creation): Promise<void> {
    const { runner, keyPrefix } = this.#calls;
    await dropCopy({ runner, keyPrefix }, { sessionId: session.id, tag });
  }

  async #run(
    { id: sessionId }: SessionRef,
    script: Script,
    keys: readonly string[],
    args: readonly string[],
  ): Promise<unknown[]> {
    const call = { script, keys, args, writes: script !== openCopyScript };
    return (await runOnSession(this.#calls.runner, { operation: "createCopy", sessionId }, call)) as unknown[];
  }
}

type Keys = Pick<ReturnType<typeof askOf>, "keys">;

/** The arguments of the script that adds a page. */
function pageArguments(
  { records, turns, before }: CopyPage,
  place: { readonly from: number; readonly base: number; readonly ttl: number; readonly owner: string } & Keys,
): string[] {
  const { from } = place;
  const identities = records.flatMap((record, index) => identityOf(record, from + index));
  const marks = turns.flatMap(({ name, count, first, doneAt = 0 }) => [
    name,
    String(count),
    String(first),
    String(doneAt),
  ]);
  const known = before && identityOf(before, from - 1);
  const texts = records.map(({ record }) => record);
  const request = { ...place, count: records.length, sum: logSum(texts), turns: turns.length, before: known };
  return [JSON.stringify(request), ...identities, ...marks, ...texts];
}

/** The hash of a record's id, a substitute if that hash is taken, and the value of both in `ids`. */
export function identityOf({ identity }: Pick<CopiedRecord, "identity">, position: number): [string, string, string] {
  const unknown = idHash(`\u0000unreadable\u0000${position}`);
  const hash = identity === undefined ? unknown : idHash(identity.id);
  return [hash, unknown, (identity?.digest ?? "-".repeat(digestLength)) + String(position)];
}

interface Finish extends Pick<NewSession, "session" | "request"> {
  readonly epoch: string;
  readonly next: number;
}

/** The arguments of the script that turns the staged keys into the session. */
function finishArguments(state: NewState, { session, request, epoch, next }: Finish): string[] {
  const { base, ttlMs: ttl } = request;
  const { expiresAt, knownIds = [] } = state;
  const known = knownIds.flatMap(({ id, digest }) => [idHash(id), `${digest}-1`]);
  const asked = JSON.stringify({ epoch, base, next, known, ttl, expiresAt });
  return [asked, ...stateFields(state, { key: session.keys?.made, base, next })];
}
