import * as z from "zod/mini";
import type { MemoryEventHandler } from "../../base/events.js";
import { lazy, positiveInteger, timeToLive, type TTL } from "../../base/options.js";
import type { EncryptionOptions } from "../../store/sealed/keys/encryption-options.js";
import { wireFields, type WiredOptions } from "./thread-wire.js";

/** Options of `RedisSaver` besides the connection. */
export interface RedisSaverSettings {
  /** Prefix of all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /**
   * Time to live of a thread after its last write, in seconds, at least 1. With `refreshOnRead`, reads of a checkpoint
   * also extend the expiry.
   * @default never
   */
  readonly threadTTL?: TTL;
  /**
   * Number of root-graph checkpoints to keep per thread, at least 1. Old ones are dropped in batches, so that a few
   * more may exist. Data that a kept checkpoint needs is never dropped. @default all
   */
  readonly keep?: number;
  /**
   * Encrypts the values of channels, metadata and writes with AES-256-GCM before they leave the process. Ids of
   * threads, checkpoints and their parents, namespaces, times of expiry and sizes stay plain. @default stored as plain
   * text
   */
  readonly encryption?: EncryptionOptions;
  /** Milliseconds after which a call fails, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /** Maximum size of a value's text in bytes of UTF-8, at least 1; a list is measured by element. @default 8_000_000 */
  readonly maxItemBytes?: number;
  /** Receives a `command` event for every round trip, and `record_skipped` for each checkpoint that `list` skips. */
  readonly onEvent?: MemoryEventHandler;
}

/** Options of `RedisSaver`: exactly one of `client`, `url`, `config` and `memory`, and settings. */
export type RedisSaverOptions = WiredOptions<RedisSaverSettings, "threadTTL" | "keep" | "maxItemBytes">;

/** Schema of the options. */
export const saverSchema = lazy(() =>
  z.strictObject({ ...wireFields(), threadTTL: z.optional(timeToLive()), keep: z.optional(positiveInteger()) }),
);
