import type { RedisLists, FollowedWrite } from "../redis-lists/session-lists.js";
import type { SessionKeys } from "../redis/keys.js";
import type { ScriptCall, ScriptRunner } from "../redis/script-runner.js";
import type { SessionRef } from "../store/session-ref.js";
import type { AppendRequest, AppendResult, ReplaceTailRequest } from "../store/session-writes.js";
import type { AppendPlan } from "../store/append-plan.js";
import type { SizeLimits } from "../store/request-checks.js";

/** A call of a script with all keys of the session. */
export type SessionCall = Omit<ScriptCall, "keys">;

/** A session in Redis, for what reads or writes it by calls of its own. */
export interface SessionPlace {
  readonly runner: ScriptRunner;
  readonly session: SessionRef;
  readonly keys: SessionKeys;
}

/** An append to send, or one that replaces the end of the log. */
export interface PlannedRequest {
  readonly request: AppendRequest | ReplaceTailRequest;
  readonly plan: AppendPlan;
}

/** How the groups of the store in Redis reach sessions; the store itself has it. */
export interface RedisCalls {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  readonly lists: RedisLists;
  readonly limits: SizeLimits;
  placeOf(session: SessionRef): SessionPlace;
  /** Runs a script on a session. */
  script(operation: string, session: SessionRef, call: SessionCall): Promise<unknown>;
  /** The same for one that writes, whose reply is a word and the owner: the owner's lists follow. */
  write(operation: string, session: SessionRef, call: Omit<SessionCall, "writes">): Promise<unknown>;
  append(operation: string, session: SessionRef, planned: PlannedRequest): Promise<AppendResult | "stale">;
  /** Makes a write; the owners' lists follow it where the session has an owner. */
  follow<T>(sessionId: string, followed: FollowedWrite<T>): Promise<T>;
  /** Notes the owner that a reply named. */
  noteOwner(sessionId: string, owner: unknown): void;
  /** Forgets where the session's view began. */
  forget(sessionId: string): void;
}
