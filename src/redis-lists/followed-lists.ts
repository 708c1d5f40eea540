import { loadedOnce } from "../base/loaded-once.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { groupWhenUsed } from "../store/groups.js";
import type { SessionLists } from "../store/lists.js";
import type { FollowedWrite, RedisLists } from "./session-lists.js";

/**
 * The owners' lists as a store uses them. Their code is loaded with the first write of a session that has an owner, or
 * with the first call of one of their methods.
 */
export class FollowedLists {
  /** The lists' own methods. */
  readonly group: SessionLists;
  readonly #lists: () => RedisLists | Promise<RedisLists>;
  /** The lists, as soon as they are loaded. */
  loaded: RedisLists | undefined;
  /** Background work, awaited by `flush` only. */
  readonly #aside = new Set<Promise<unknown>>();

  /** `owners` holds those of sessions, from replies. */
  constructor(runner: ScriptRunner, keyPrefix: string, owners: ReadonlyMap<string, string>) {
    this.#lists = loadedOnce(async () => {
      const { RedisLists } = await import("./session-lists.js");
      return (this.loaded = new RedisLists(runner, keyPrefix, owners));
    });
    this.group = {
      ...groupWhenUsed("lists", async () => this.#lists()),
      flush: () => this.#flush(),
    };
  }

  /** Loads the lists. */
  async load(): Promise<RedisLists> {
    return this.#lists();
  }

  /** {@link follow} for a write that must wait for the announcement. */
  async followAnnounced<T>(sessionId: string, followed: FollowedWrite<T>): Promise<T> {
    return (await this.#lists()).followAnnounced(sessionId, followed);
  }

  /** Updates the list of the owner, `""` for none, after an extended expiry. */
  async extended(sessionId: string, owner: string): Promise<void> {
    if (owner !== "") {
      (await this.#lists()).extended(sessionId, owner);
    }
  }

  /** Removes an ended session from the list of its owner, `""` for none. Never fails: `flush` retries. */
  async ended(sessionId: string, owner: string): Promise<void> {
    await (owner === "" ? undefined : (await this.#lists()).ended(sessionId, owner));
  }

  /** Restores title and metadata of a session that lost its state from the owner's list. */
  async restoreLabel(sessionId: string, owner: string): Promise<void> {
    await (await this.#lists()).restoreLabel(sessionId, owner);
  }

  /** Runs background work, awaited by `flush` only; ignores its failure. */
  aside(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.catch(() => undefined).finally(() => this.#aside.delete(tracked));
    this.#aside.add(tracked);
  }

  /** Flushes, and stops the timers. */
  async close(): Promise<void> {
    await this.#flush();
    this.loaded?.close();
  }

  async #flush(): Promise<void> {
    await Promise.all(this.#aside);
    await this.loaded?.flush();
  }
}
