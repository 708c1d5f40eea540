import type { RunnableConfig } from "@langchain/core/runnables";
import { ConfigurationError } from "../../base/errors.js";
import { checkSessionId } from "../../store/contract/session-ref.js";

/** The place of a checkpoint. */
export interface CheckpointPlace {
  readonly threadId: string;
  /** Empty for the root graph. */
  readonly ns: string;
  /** Undefined for the newest one, or for a checkpoint without parent. */
  readonly id: string | undefined;
}

/** The same with a known id. */
export type KnownPlace = CheckpointPlace & { readonly id: string };

/**
 * Reads the place of a checkpoint from the config of a call.
 *
 * @throws ConfigurationError `thread_id`, `checkpoint_ns` and `checkpoint_id`.
 */
export function placeIn(config: RunnableConfig): CheckpointPlace {
  const fields = (config.configurable ?? {}) as Readonly<Record<string, unknown>>;
  const threadId = fields["thread_id"];
  const ns = fields["checkpoint_ns"] ?? "";
  const id = fields["checkpoint_id"] || fields["thread_ts"] || undefined;
  checkThreadId(threadId);
  checkText("checkpoint_ns", ns);
  if (id !== undefined) {
    checkText("checkpoint_id", id);
  }
  return { threadId, ns, id };
}

/** The owner that a call names (`configurable.owner`), as for sessions. */
export function ownerIn({ configurable }: RunnableConfig): string | undefined {
  const owner: unknown = configurable?.["owner"];
  return typeof owner === "string" && owner !== "" ? owner : undefined;
}

/** The config of a checkpoint, as every saver returns it. */
export function configOf({ threadId, ns, id }: KnownPlace): RunnableConfig {
  return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: id } };
}

const parents = new WeakSet<RunnableConfig>();

/** The config of a checkpoint's parent: who walks back by it finds the end where parents were dropped. */
export function parentConfigOf(place: KnownPlace): RunnableConfig {
  const config = configOf(place);
  parents.add(config);
  return config;
}

/** True for a config that {@link parentConfigOf} made. */
export function isParentConfig(config: RunnableConfig): boolean {
  return parents.has(config);
}

/** When a checkpoint was made, by its id (a UUID of version 6), in milliseconds since 1970; Infinity for other ids. */
export function madeAt(id: string): number {
  const [, high, mid, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/i.exec(id) ?? [];
  const sinceGregory = high === undefined ? Infinity : Number.parseInt(`${high}${mid}${low}`, 16) / 10_000;
  return sinceGregory - 12_219_292_800_000;
}

/**
 * Refuses an invalid thread id; the rules are those of session ids.
 *
 * @throws ConfigurationError `thread_id`.
 */
export function checkThreadId(threadId: unknown): asserts threadId is string {
  if (threadId === undefined) {
    const advice = 'pass { configurable: { thread_id: "…" } } with the call';
    throw new ConfigurationError("thread_id", `The config names no thread; ${advice}.`);
  }
  try {
    checkSessionId(threadId);
  } catch (error) {
    const { message } = error as Error;
    throw new ConfigurationError("thread_id", message.replace("session id", "id of the thread (thread_id)"));
  }
}

/**
 * Refuses a name that would be ambiguous in Redis.
 *
 * @throws ConfigurationError with the name of the field.
 */
export function checkText(field: string, value: unknown): asserts value is string {
  if (typeof value !== "string" || value.includes("\0") || !value.isWellFormed()) {
    const got = typeof value === "string" ? "" : `; got ${value === null ? "null" : typeof value}`;
    throw new ConfigurationError(field, `${field} must be text without NUL and halves of surrogate pairs${got}.`);
  }
}
