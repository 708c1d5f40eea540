import { isDeepStrictEqual } from "node:util";
import {
  listedSummary,
  type ListsProgress,
  type ListsReindex,
  type SessionAccess,
  type SessionDetails,
  type SessionLists,
  type SessionLabel,
  type SessionsPage,
  type SessionSummary,
} from "../store/lists.js";
import { randomToken } from "../base/ids.js";
import type { SessionRef } from "../store/session-ref.js";
import { checkInteger, checkOptional, notNegative } from "../store/request-checks.js";
import { announcedGraceMs, ListTouches } from "./touches.js";
import { sessionKeys } from "../redis/keys.js";
import { eraseOwner, eraseSession } from "./owner-erasure.js";
import { OwnerLists, type SeenEntry } from "./owner-lists.js";
import { reindexSessions } from "./reindex-sessions.js";
import { scanSessions, type KeyScan } from "../redis/scan-keys.js";
import { runOnSession, type ScriptRunner } from "../redis/script-runner.js";
import { relabelSessionScript } from "../redis/lua/later-scripts.js";
import { SessionDescriber } from "./session-describer.js";

/** A write followed by an update of the list. */
export interface FollowedWrite<T> {
  readonly owner?: string | undefined;
  readonly ttlMs?: number | undefined;
  write(): Promise<T>;
  /** False for a result that says that nothing was written. @default true */
  readonly wrote?: (result: T) => boolean;
  /** Place of the session in the list: in front, or by the time of its last write. @default "front" */
  readonly listed?: () => "front" | "place";
}

/**
 * Lists of sessions in Redis: for each owner a ZSET and a HASH in the owner's slot, which follow the sessions. Lists of
 * what other processes wrote may be a second behind.
 */
export class RedisLists implements SessionLists {
  readonly #runner: ScriptRunner;
  readonly #keyPrefix: string;
  readonly #owners: OwnerLists;
  readonly #describer: SessionDescriber;
  readonly #touches: ListTouches;
  /** Background work, awaited by `flush` only. */
  readonly #aside = new Set<Promise<unknown>>();

  /** `ownersOfSessions` holds those that replies named. */
  constructor(runner: ScriptRunner, keyPrefix: string, ownersOfSessions: ReadonlyMap<string, string> = new Map()) {
    this.#runner = runner;
    this.#keyPrefix = keyPrefix;
    this.#owners = new OwnerLists(runner, keyPrefix);
    this.#describer = new SessionDescriber(runner, keyPrefix);
    this.#touches = new ListTouches(this.#owners, this.#describer, ownersOfSessions);
  }

  async list(
    owner: string,
    { limit, before, verify = false }: { readonly limit: number; readonly before?: number; readonly verify?: boolean },
  ): Promise<SessionsPage> {
    checkInteger("limit", limit, 1);
    checkOptional("before", before, notNegative);
    const { entries, next } = await this.#owners.list(owner, before, limit);
    const gone: SeenEntry[] = [];
    const looked = entries.map(async ({ sessionId, stamp, summary }): Promise<SessionSummary | undefined> => {
      if (summary !== undefined && !verify) {
        return summary;
      }
      const described = await this.#describer.describeOf(owner, sessionId);
      if (described === undefined) {
        gone.push({ sessionId, stamp });
        return undefined;
      }
      if (described === "damaged") {
        return summary;
      }
      const current = listedSummary(described.details);
      if (summary === undefined || differs(summary, current)) {
        this.#runAside(this.#owners.put(owner, [described], { mode: "keep" }));
      }
      return current;
    });
    const sessions = (await Promise.all(looked)).filter((session) => session !== undefined);
    if (gone.length > 0) {
      this.#runAside(this.#owners.drop(owner, gone, announcedGraceMs));
    }
    return { sessions, ...(next !== undefined && { next }) };
  }

  async count(owner: string): Promise<number> {
    return this.#owners.count(owner);
  }

  async describe({ id, owner }: SessionRef): Promise<SessionDetails | undefined> {
    return (await this.#describer.describe(id, { owner, full: true }))?.details;
  }

  /** Restores title and metadata of a session that lost its state from the owner's list. */
  async restoreLabel(sessionId: string, owner: string): Promise<void> {
    const summary = await this.#owners.summary(owner, sessionId);
    if (summary !== undefined && Object.keys(summary.label).length > 0) {
      await this.relabel({ id: sessionId, owner }, { label: summary.label, version: "" });
    }
  }

  async relabel(
    { id: sessionId, owner }: SessionRef,
    { label, version }: { readonly label: SessionLabel; readonly version: string },
  ): Promise<"changed" | "stale" | "missing"> {
    const texts = [label.title, label.metadata, label.listed].flatMap((text) => [
      text === undefined ? "0" : "1",
      text ?? "",
    ]);
    const args = [JSON.stringify({ owner, version, newVersion: randomToken() }), ...texts];
    const keys = [sessionKeys(this.#keyPrefix, sessionId).state];
    const name = { operation: "relabel", sessionId };
    const call = { script: relabelSessionScript, keys, args, writes: true };
    const [word] = (await runOnSession(this.#runner, name, call)) as [string];
    if (word === "CHANGED") {
      const described = await this.#describer.describe(sessionId);
      const current = described?.details.owner;
      await (current === undefined ? undefined : this.#touches.settle(sessionId, current));
    }
    return word === "CHANGED" ? "changed" : word === "STALE" ? "stale" : "missing";
  }

  async erase({ id: sessionId, owner }: SessionRef, { guardMs }: { readonly guardMs: number }): Promise<boolean> {
    checkInteger("guardMs", guardMs, 1);
    const result = await eraseSession(this.#erasure(), sessionId, { owner, guardMs, strict: false });
    const known = result.owner === "" ? (owner ?? "") : result.owner;
    await this.ended(sessionId, known === "" ? this.#touches.ownerOf(sessionId) : known);
    return result.existed;
  }

  async eraseOwner(
    owner: string,
    { guardMs, onProgress }: { readonly guardMs: number; readonly onProgress?: (progress: ListsProgress) => void },
  ): Promise<number> {
    checkInteger("guardMs", guardMs, 1);
    return eraseOwner({ ...this.#erasure(), owner, guardMs, onProgress });
  }

  scan({ owner }: SessionAccess = {}): AsyncIterable<string> {
    return scanSessions(this.#scan(), owner);
  }

  async reindex(listeners: ListsReindex = {}): Promise<number> {
    const [owners, describer] = [this.#owners, this.#describer];
    return reindexSessions({ scan: this.#scan(), owners, describer, graceMs: announcedGraceMs, ...listeners });
  }

  async flush(): Promise<void> {
    await Promise.all(this.#aside);
    await this.#touches.flush();
    await Promise.all(this.#aside);
  }

  /** Writes, then updates the list; first announces a session that is new to this process. */
  async follow<T>(sessionId: string, { owner, ttlMs, write, wrote }: FollowedWrite<T>): Promise<T> {
    const ended = this.#touches.begin(sessionId, owner);
    if (owner !== undefined) {
      this.#touches.announce(sessionId, owner, ttlMs);
    }
    return this.#followed(sessionId, { owner, write, ...(wrote && { wrote }) }, ended);
  }

  /** {@link follow} for a write that must wait for the announcement. */
  async followAnnounced<T>(sessionId: string, followed: FollowedWrite<T>): Promise<T> {
    const { owner, ttlMs } = followed;
    const ended = this.#touches.begin(sessionId, owner);
    try {
      await (owner === undefined ? undefined : this.#touches.announceNow(sessionId, owner, ttlMs));
    } catch (error) {
      ended();
      throw error;
    }
    return this.#followed(sessionId, followed, ended);
  }

  async #followed<T>(sessionId: string, followed: FollowedWrite<T>, ended: () => void): Promise<T> {
    const { owner, write, wrote, listed = () => "front" } = followed;
    try {
      const result = await write().finally(ended);
      this.#touches.touch(sessionId, { owner, mode: (wrote?.(result) ?? true) ? listed() : "keep" });
      return result;
    } catch (error) {
      this.#touches.touch(sessionId, { owner, mode: "keep" });
      throw error;
    }
  }

  /** Updates the list after an extended expiry. */
  extended(sessionId: string, owner: string): void {
    this.#touches.touch(sessionId, { owner, mode: "keep" });
  }

  /** Removes an ended session from its owner's list; `""`: of no owner. Never fails: `flush` retries. */
  async ended(sessionId: string, owner: string): Promise<void> {
    await (owner === "" ? undefined : this.#touches.settle(sessionId, owner));
  }

  /** Runs background work, awaited by `flush` only; ignores its failure. */
  #runAside(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.catch(() => undefined).finally(() => this.#aside.delete(tracked));
    this.#aside.add(tracked);
  }

  /** Stops the timers. */
  close(): void {
    this.#touches.close();
  }

  #scan(): KeyScan {
    return { runner: this.#runner, keyPrefix: this.#keyPrefix };
  }

  #erasure() {
    return { ...this.#scan(), owners: this.#owners };
  }
}

/** Compares expiries by the second, because each read computes them anew. */
function differs(known: SessionSummary, current: SessionSummary): boolean {
  const inSeconds = ({ expiresAt, ...rest }: SessionSummary) => ({
    ...rest,
    at: expiresAt && Math.round(expiresAt / 1_000),
  });
  return !isDeepStrictEqual(inSeconds(known), inSeconds(current));
}
