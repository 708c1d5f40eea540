import * as z from "zod/mini";
import type { MemoryEventHandler } from "../base/events.js";
import { anyFunction, lazy, objectWith, positiveInteger, timeToLive } from "../base/options.js";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import { connectionFields, redisStoreFields, type ConnectionSource, type ExactlyOne } from "../redis/store-options.js";
import type { EncryptionOptions } from "../sealed/keys/encryption-options.js";

/** Options of `RedisSaver` besides the connection. */
export interface RedisSaverSettings {
  /** Begins all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /**
   * Seconds after its last write at which a thread expires, at least 1; with `refreshOnRead`, reads of a checkpoint
   * keep its thread alive, too.
   * @default never
   */
  readonly threadTTL?:
    | number
    | {
        /** Seconds to live. */
        readonly seconds: number;
        /** Whether reads of a checkpoint extend it, too. @default false */
        readonly refreshOnRead?: boolean;
      };
  /**
   * Checkpoints of the root graph that a thread keeps, at least 1; old ones go from time to time, a few more stay
   * meanwhile. What a kept checkpoint needs stays. @default all
   */
  readonly keep?: number;
  /**
   * Encrypts the values of channels, metadata and writes with AES-256-GCM before they leave the process. Ids of
   * threads, checkpoints and their parents, namespaces, times of expiry and sizes stay plain. @default stored as plain
   * text
   */
  readonly encryption?: EncryptionOptions;
  /** Milliseconds that a call may take, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /** Largest text of a value in bytes of UTF-8, at least 1; a list counts by element. @default 8_000_000 */
  readonly maxItemBytes?: number;
  /** Receives a `command` event for every round trip, and `record_skipped` for checkpoints that a list leaves out. */
  readonly onEvent?: MemoryEventHandler;
}

/** Options of `RedisSaver`: exactly one of `client`, `url`, `config` and `memory`, and settings. */
export type RedisSaverOptions =
  | (RedisSaverSettings &
      ExactlyOne<ConnectionSource> & {
        /** Not beside a connection. */
        readonly memory?: undefined;
      })
  | (Pick<RedisSaverSettings, "threadTTL" | "keep" | "maxItemBytes"> & {
      /**
       * The memory's connection, key prefix, timeout, acknowledgements of replicas, encryption and events are used, and
       * `close()` of the saver leaves the connection open. It must keep its sessions in Redis.
       */
      readonly memory: RedisChatMemory;
    });

/** The options as a schema. */
export const saverSchema = lazy(() => {
  const { keyPrefix, commandTimeout } = redisStoreFields();
  return z.strictObject({
    ...connectionFields(),
    memory: z.optional(objectWith<RedisChatMemory>(["history"], "a RedisChatMemory")),
    keyPrefix,
    commandTimeout,
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
    threadTTL: z.optional(timeToLive()),
    keep: z.optional(positiveInteger()),
    encryption: z.optional(z.custom<EncryptionOptions>()),
    maxItemBytes: z._default(positiveInteger(), 8_000_000),
  });
});
