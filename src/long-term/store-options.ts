import * as z from "zod/mini";
import type { MemoryEventHandler } from "../base/events.js";
import { lazy, timeToLive } from "../base/options.js";
import { wireFields } from "../checkpoint/thread-wire.js";
import type { RedisChatMemory } from "../memory/redis-chat-memory.js";
import type { ConnectionSource, ExactlyOne } from "../redis/store-options.js";
import type { EncryptionOptions } from "../sealed/keys/encryption-options.js";

/** Seconds after its last write at which an item expires, at least 1; with `refreshOnRead`, reads keep it alive. */
export type ItemTTL =
  | number
  | {
      /** Seconds to live. */
      readonly seconds: number;
      /** Whether reads extend it, too. @default false */
      readonly refreshOnRead?: boolean;
    };

/** Options of `RedisStore` besides the connection. */
export interface ItemStoreSettings {
  /** Begins all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /** When items expire for which `put` says nothing else. @default never */
  readonly itemTTL?: ItemTTL;
  /**
   * Encrypts the values of items with AES-256-GCM before they leave the process. Namespaces, keys, times and sizes stay
   * plain. @default stored as plain text
   */
  readonly encryption?: EncryptionOptions;
  /** Milliseconds that a call may take, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /** Largest text of a value in bytes of UTF-8, at least 1. @default 8_000_000 */
  readonly maxItemBytes?: number;
  /** Receives a `command` event for every round trip, and `record_skipped` for items that a search leaves out. */
  readonly onEvent?: MemoryEventHandler;
}

/** Options of `RedisStore`: exactly one of `client`, `url`, `config` and `memory`, and settings. */
export type RedisStoreOptions =
  | (ItemStoreSettings &
      ExactlyOne<ConnectionSource> & {
        /** Not beside a connection. */
        readonly memory?: undefined;
      })
  | (Pick<ItemStoreSettings, "itemTTL" | "maxItemBytes"> & {
      /**
       * The memory's connection, key prefix, timeout, acknowledgements of replicas, encryption and events are used, and
       * `close()` of the store leaves the connection open. It must keep its sessions in Redis.
       */
      readonly memory: RedisChatMemory;
    });

/** The options as a schema. */
export const itemStoreSchema = lazy(() => z.strictObject({ ...wireFields(), itemTTL: z.optional(timeToLive()) }));

/** The option of a single `put` as a schema. */
export const putSchema = lazy(() => z.strictObject({ itemTTL: z.optional(timeToLive()) }));
