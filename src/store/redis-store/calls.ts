import type { FollowedLists, FollowedWrite } from "../redis-lists/followed-lists.js";
import type { SessionKeys } from "../redis/keys.js";
import type { ScriptCall, ScriptRunner } from "../redis/script-runner.js";
import type { SessionRef } from "../contract/session-ref.js";
import type { AppendResult, LogWrite } from "../contract/session-writes.js";
import type { AppendPlan, SizeLimits } from "../contract/append-decision.js";

/** A call of a script; without keys, with all of the session. */
export type SessionCall = Omit<ScriptCall, "keys"> & Partial<Pick<ScriptCall, "keys">>;

/** A session's keys in Redis, for code that sends its own commands. */
export interface SessionPlace {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly keys: SessionKeys;
}

/** An append to send, or another write of the same script. */
export interface PlannedRequest {
  readonly request: LogWrite;
  readonly plan: AppendPlan;
  /** As of {@link FollowedWrite}. @default `ttlMs` of the request */
  readonly ttlMs?: number;
}

/** Access to sessions for the groups of the Redis store, implemented by the store. */
export interface RedisCalls {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  readonly lists: FollowedLists;
  readonly limits: SizeLimits;
  placeOf(session: SessionRef): SessionPlace;
  /** Runs a script on a session. */
  script(operation: string, session: SessionRef, call: SessionCall): Promise<unknown>;
  append(operation: string, session: SessionRef, planned: PlannedRequest): Promise<AppendResult | "stale">;
  /** Makes a write, behind the entry of the session in the list of its owner. */
  follow<T>(session: SessionRef, followed: FollowedWrite<T>): Promise<T>;
  /** Caches the owner in a reply, `""` for none. */
  noteOwner(sessionId: string, owner: unknown): void;
  /** Drops the cached positions of the session. */
  forget(sessionId: string): void;
}
