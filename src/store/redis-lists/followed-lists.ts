import { loadedOnce } from "../../base/bounds.js";
import type { ScriptRunner } from "../redis/script-runner.js";
import { groupWhenUsed } from "../contract/groups.js";
import type { SessionLists, SessionRef } from "../contract/session-ref.js";
import type { RedisLists } from "./session-lists.js";

/** The time to live of a write that changes no expiry: its list is kept long enough. */
export const keepsExpiry = 0;

/** A write of a session. */
export interface FollowedWrite<T> {
  /** Milliseconds that the session lives after it, {@link keepsExpiry}, or undefined if it may stay for ever. */
  readonly ttlMs: number | undefined;
  write(): Promise<T>;
}

/**
 * The owners' lists as a store uses them. Their code is loaded with the first write of a session that has an owner, or
 * with the first call of one of their methods.
 */
export class FollowedLists {
  /** The lists' own methods. */
  readonly group: SessionLists;
  /** Loads the lists. */
  readonly load: () => RedisLists | Promise<RedisLists>;
  #loaded: RedisLists | undefined;
  readonly #owners: ReadonlyMap<string, string>;
  /** Background work, awaited by `flush` only. */
  readonly #aside = new Set<Promise<unknown>>();

  /** `owners` holds those of sessions, from replies. */
  constructor(runner: ScriptRunner, keyPrefix: string, owners: ReadonlyMap<string, string>) {
    this.#owners = owners;
    this.load = loadedOnce(async () => {
      const { RedisLists } = await import("./session-lists.js");
      return (this.#loaded = new RedisLists(runner, keyPrefix, (work) => this.aside(work)));
    });
    // Nothing is loaded for `flush`.
    const load = async () => (await this.load()) as RedisLists & Pick<SessionLists, "flush">;
    this.group = { ...groupWhenUsed("lists", load), flush: () => this.flush() };
  }

  /** Makes a write. Enters the session, in front of it, in the list of the owner that it names or is known to have. */
  async follow<T>({ id: sessionId, owner }: SessionRef, { ttlMs, write }: FollowedWrite<T>): Promise<T> {
    const entered = owner ?? this.#owners.get(sessionId);
    const isStillOwners = () => this.#owners.get(sessionId) === entered;
    const result =
      entered === undefined
        ? await write()
        : await (this.#loaded ?? (await this.load())).follow(
            { owner: entered, sessionId, ttlMs },
            write,
            isStillOwners,
          );
    // The reply may be the first that names the owner, or name another one.
    const named = this.#owners.get(sessionId);
    if (named !== undefined && named !== entered) {
      void (await this.load()).enter({ owner: named, sessionId, ttlMs });
    }
    return result;
  }

  /** Keeps the list of the owner, `""` for none, after an extended expiry. */
  async extended(sessionId: string, owner: string, ttlMs: number): Promise<void> {
    if (owner !== "") {
      await (await this.load()).extended({ owner, sessionId, ttlMs });
    }
  }

  /** Runs background work, awaited by `flush` only; ignores its failure. */
  aside(work: Promise<unknown>): void {
    const tracked: Promise<unknown> = work.catch(() => undefined).finally(() => this.#aside.delete(tracked));
    this.#aside.add(tracked);
  }

  /** Awaits the work of this process, also what comes of it. */
  async flush(): Promise<void> {
    while (this.#aside.size > 0) {
      await Promise.all(this.#aside);
    }
  }
}
