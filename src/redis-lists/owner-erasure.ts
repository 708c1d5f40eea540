import { maxTries } from "../base/tries.js";
import { MemoryError } from "../base/errors.js";
import { randomToken } from "../base/ids.js";
import type { ListsProgress } from "../store/lists.js";
import { forkKeys, runKeys, sessionKeys, threadKeys } from "../redis/keys.js";
import type { MarkedEntry, OwnerLists } from "./owner-lists.js";
import { isOwnedBy, scanKeys, type FoundCopy, type KeyScan } from "../redis/scan-keys.js";
import { runOnSession } from "../redis/script-runner.js";
import { eraseSessionScript } from "../redis/lua/later-scripts.js";

const pageLength = 100;
/** Context of an erasure. */
export interface Erasure extends KeyScan {
  readonly owners: OwnerLists;
}

/** The erasure of all sessions of an owner. */
export interface OwnerErasure extends Erasure {
  readonly owner: string;
  readonly guardMs: number;
  readonly onProgress: ((progress: ListsProgress) => void) | undefined;
}

/** An erased session: whether it existed, and its owner, or `""`. */
export interface ErasedSession {
  readonly existed: boolean;
  readonly owner: string;
}

/**
 * Removes a session, its runs, and the LangGraph thread of the same id, and leaves a tombstone (the guard). `strict`
 * keeps a session without an owner.
 */
export async function eraseSession(
  { runner, keyPrefix }: Erasure,
  sessionId: string,
  request: {
    readonly owner: string | undefined;
    readonly guardMs: number;
    readonly strict: boolean;
    readonly assigns?: boolean;
  },
): Promise<ErasedSession> {
  const name = { operation: "erase", sessionId };
  const { log, ids, state, ...others } = sessionKeys(keyPrefix, sessionId);
  const args = [JSON.stringify({ ...request, call: randomToken() })];
  const call = { script: eraseSessionScript, keys: [log, ids, state], args, writes: true };
  const [word, found, existed] = (await runOnSession(runner, name, call)) as [string, string?, string?];
  if (word === "KEPT") {
    return { existed: false, owner: "" };
  }
  // One command per key, since most are missing: a cluster refuses a script that names missing keys of a migrating
  // slot. The keys of LangGraph's thread of this id all exist, or none does.
  const single = [...Object.values(others), ...Object.values(runKeys(keyPrefix, sessionId))];
  const groups = [...single.map((key) => [key]), Object.values(threadKeys(keyPrefix, sessionId))];
  await Promise.all(groups.map((keys) => runner.command(name, { verb: "unlink", args: [...keys] }, keys)));
  return { existed: existed === "1", owner: found ?? "" };
}

/**
 * Erases the sessions in an owner's list, then unlisted sessions that name the owner, then those begun meanwhile.
 * Resumable: a crash leaves entries without sessions, never sessions that the next run would miss.
 */
export async function eraseOwner(erasure: OwnerErasure): Promise<number> {
  const { owner, guardMs, onProgress, owners } = erasure;
  let sessions = 0;
  const note = (count: number) => {
    sessions += count;
    onProgress?.({ sessions });
  };
  for (let left = pageLength; left === pageLength;) {
    // The oldest come first, so that announcements of active writers do not keep this from ending.
    const page = await owners.mark(owner, guardMs, pageLength);
    note(await erasePage(erasure, page));
    await owners.drop(owner, page, 0);
    left = page.length;
  }
  for await (const page of scanKeys(erasure)) {
    const own = page.sessions.filter((found) => isOwnedBy(found, owner));
    note(await erasePage(erasure, own));
    await Promise.all(page.copies.filter((copy) => copy.owner === owner).map((copy) => dropCopy(erasure, copy)));
    await owners.mark(owner, guardMs, 1);
  }
  for (let round = 1; ; round += 1) {
    const page = await owners.mark(owner, guardMs, pageLength);
    note(await erasePage(erasure, page));
    // Active writers keep announcing sessions, erased and new ones.
    const release = { mark: randomToken(), milliseconds: guardMs, erased: page, inAnyCase: round >= maxTries.lists };
    if (await owners.unmark(owner, release)) {
      return sessions;
    }
    await owners.drop(owner, page, 0);
  }
}

/** Removes an incomplete copy. */
export async function dropCopy(
  { runner, keyPrefix }: KeyScan,
  { sessionId, tag }: Pick<FoundCopy, "sessionId" | "tag">,
): Promise<void> {
  const keys = Object.values(forkKeys(keyPrefix, sessionId, tag));
  const name = { operation: "fork", sessionId };
  await Promise.all(keys.map((key) => runner.command(name, { verb: "unlink", args: [key] }, [key])));
}

async function erasePage(erasure: OwnerErasure, page: readonly Pick<MarkedEntry, "sessionId">[]): Promise<number> {
  const ids = page.flatMap(({ sessionId }) => sessionId ?? []);
  const erased = await Promise.all(ids.map((sessionId) => eraseOwn(erasure, sessionId)));
  return erased.filter((session) => session?.existed === true).length;
}

/** Erases a session unless it belongs to another owner. The list decides if the session names no owner. */
async function eraseOwn(erasure: OwnerErasure, sessionId: string): Promise<ErasedSession | undefined> {
  const { owner, guardMs, owners } = erasure;
  const request = { owner, guardMs, strict: true };
  try {
    return await eraseSession(erasure, sessionId, request);
  } catch (error) {
    const code = MemoryError.isInstance(error) ? error.code : undefined;
    if (code === "damaged" && (await owners.summary(owner, sessionId)) !== undefined) {
      return eraseSession(erasure, sessionId, { ...request, assigns: true });
    }
    if (code === "damaged" || code === "other_owner") {
      return undefined;
    }
    throw error;
  }
}
