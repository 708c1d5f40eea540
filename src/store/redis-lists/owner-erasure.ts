import { MemoryError } from "../../base/errors.js";
import { randomToken } from "../../base/ids.js";
import type { ErasedOwners } from "../contract/session-ref.js";
import { keyOf, forkKeys, sessionKeys } from "../redis/keys.js";
import { otherOwner } from "../contract/refusals.js";
import { eraseOthers, ownersNamed, ownersOfOthers } from "./kinds.js";
import type { OwnerLists } from "./owner-lists.js";
import { isOwnedBy, scanKeys, type FoundCopy, type KeyScan } from "../redis/scan-keys.js";
import { runOnSession } from "../redis/script-runner.js";
import { eraseSessionScript } from "../redis/lua/later-scripts.js";

const pageLength = 100;

/** The erasure of all sessions of an owner. */
interface OwnerErasure extends KeyScan {
  readonly lists: OwnerLists;
  readonly owner: string;
  readonly guardMs: number;
}

/** An erased session: whether it existed, and its owner, or `""`. */
export interface ErasedSession {
  readonly existed: boolean;
  readonly owner: string;
}

/**
 * Removes a session, and then what else the table of kinds has under its id, and leaves tombstones (the guard).
 * `strict` keeps a session without an owner. A named owner removes only what names them, or belongs to their session.
 *
 * @throws ConflictError `other_owner`.
 */
export async function eraseSession(
  scan: KeyScan,
  sessionId: string,
  request: { readonly owner: string | undefined; readonly guardMs: number; readonly strict: boolean },
): Promise<ErasedSession> {
  const { runner, keyPrefix } = scan;
  const { owner, guardMs } = request;
  await (owner === undefined ? undefined : refuseOthers(scan, sessionId, owner));
  const name = { operation: "erase", sessionId };
  const { log, ids, state } = sessionKeys(keyPrefix, sessionId);
  const args = [JSON.stringify({ ...request, call: randomToken() })];
  const call = { script: eraseSessionScript, keys: [log, ids, state], args, writes: true };
  const [, storedOwner, existed] = (await runOnSession(runner, name, call)) as [string, string?, string?];
  // Data that names nobody belongs to the session, also where that was erased by a call that did not get here.
  const isNamelessOwn = owner === undefined || existed === "1" || existed === "again";
  const others = await eraseOthers(scan, sessionId, { owner, isNamelessOwn, guardMs });
  return { existed: existed === "1" || others, owner: storedOwner ?? "" };
}

/**
 * Refuses a caller where there is no session, and a thread or a run of the id that names another owner.
 *
 * @throws ConflictError `other_owner`.
 */
async function refuseOthers({ runner, keyPrefix }: KeyScan, sessionId: string, owner: string): Promise<void> {
  const name = { operation: "erase", sessionId };
  const keys = (["log", "ids", "state"] as const).map((part) => keyOf(keyPrefix, part, sessionId));
  const [sessions, owners] = await Promise.all([
    runner.read(name, { verb: "exists", args: keys }),
    ownersOfOthers({ runner, keyPrefix }, sessionId),
  ]);
  if (sessions === 0 && owners.length > 0 && !owners.includes(owner)) {
    throw otherOwner(sessionId);
  }
}

/**
 * Erases the sessions in the lists of owners, then with one scan for all of them what names an owner and is not listed,
 * then what was begun meanwhile: each is listed before its first write, so that this finds its entry, or the session
 * begins after the end. Resumable: a crash leaves entries without sessions, never sessions that the next run would
 * miss.
 */
export async function eraseOwners(
  erasure: Omit<OwnerErasure, "owner">,
  { owners, onProgress, unlisted }: ErasedOwners,
): Promise<number> {
  let sessions = 0;
  const note = (count: number) => {
    sessions += count;
    onProgress?.({ sessions });
  };
  const listed = async () => {
    for (const owner of owners) {
      await eraseListed({ ...erasure, owner }, note);
    }
  };
  await listed();
  if (!unlisted) {
    return sessions;
  }
  for await (const page of scanKeys(erasure)) {
    const named = await ownersNamed(erasure, page.keys);
    for (const owner of owners) {
      const pieces = [...page.sessions.filter((one) => isOwnedBy(one, owner)), ...named.filter(isOf(owner))];
      const ids = new Set(pieces.map(({ sessionId }) => sessionId));
      note(await erasePage({ ...erasure, owner }, [...ids]));
      await Promise.all(page.copies.filter(isOf(owner)).map((copy) => dropCopy(erasure, copy)));
    }
  }
  await listed();
  return sessions;
}

function isOf(name: string) {
  return ({ owner }: { readonly owner: string | undefined }) => owner === name;
}

/** The oldest come first, so that entries of active writers do not keep this from ending. */
async function eraseListed(erasure: OwnerErasure, note: (count: number) => void): Promise<void> {
  const { lists, owner } = erasure;
  for (let left = pageLength; left === pageLength;) {
    const page = await lists.oldest(owner, pageLength);
    note(
      await erasePage(
        erasure,
        page.flatMap(({ sessionId }) => sessionId ?? []),
      ),
    );
    await lists.drop(owner, page, 0);
    left = page.length;
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

async function erasePage(erasure: OwnerErasure, ids: readonly string[]): Promise<number> {
  const erased = await Promise.all(ids.map((sessionId) => eraseOwn(erasure, sessionId)));
  return erased.filter((session) => session?.existed === true).length;
}

/**
 * Erases a session unless it belongs to another owner, or lost every name of its owner: an entry proves nothing, as a
 * write that is refused makes one too.
 */
async function eraseOwn(erasure: OwnerErasure, sessionId: string): Promise<ErasedSession | undefined> {
  const { owner, guardMs } = erasure;
  try {
    return await eraseSession(erasure, sessionId, { owner, guardMs, strict: true });
  } catch (error) {
    const code = MemoryError.isInstance(error) ? error.code : undefined;
    if (code === "damaged" || code === "other_owner") {
      // The session is not theirs, but a thread or a run of its id may be.
      const existed = await eraseOthers(erasure, sessionId, { owner, isNamelessOwn: false, guardMs });
      return { existed, owner: "" };
    }
    throw error;
  }
}
