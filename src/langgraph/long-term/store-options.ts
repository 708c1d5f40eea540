import * as z from "zod/mini";
import type { MemoryEventHandler } from "../../base/events.js";
import { lazy, timeToLive, type TTL } from "../../base/options.js";
import { wireFields, type WiredOptions } from "../checkpoint/thread-wire.js";
import type { EncryptionOptions } from "../../store/sealed/keys/encryption-options.js";

/** Options of `RedisStore` besides the connection. */
export interface ItemStoreSettings {
  /** Begins all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /** Default expiry of items; `put` can override it. @default never */
  readonly itemTTL?: TTL;
  /**
   * Encrypts the values of items with AES-256-GCM before they leave the process. Namespaces, keys, times and sizes stay
   * plain. @default no encryption
   */
  readonly encryption?: EncryptionOptions;
  /** Milliseconds that a call may take, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /** Maximum size of a serialized value in bytes of UTF-8, at least 1. @default 8_000_000 */
  readonly maxItemBytes?: number;
  /** Receives a `command` event for every round trip, and `record_skipped` for items that a search skips. */
  readonly onEvent?: MemoryEventHandler;
}

/** Options of `RedisStore`: exactly one of `client`, `url`, `config` and `memory`, and settings. */
export type RedisStoreOptions = WiredOptions<ItemStoreSettings, "itemTTL" | "maxItemBytes">;

/** Schema of {@link RedisStoreOptions}, without its connection. */
export const itemStoreSchema = lazy(() => z.strictObject({ ...wireFields(), itemTTL: z.optional(timeToLive()) }));

/** Schema of the options of a single `put`. */
export const putSchema = lazy(() => z.strictObject({ itemTTL: z.optional(timeToLive()) }));
