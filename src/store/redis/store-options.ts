import * as z from "zod/mini";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, nonNegativeInteger, positiveInteger } from "../../base/options.js";
import { type SizeLimits, sizeLimits } from "../contract/append-decision.js";
import { defaultKeyPrefix, keyPrefixIssue } from "./keys.js";
import type { RedisClient } from "./connection.js";

/** Connection to Redis. */
export interface ConnectionSource {
  /** Your own ioredis `Redis` or `Cluster` (5 or 6); it is never closed and gets no new methods. */
  readonly client?: RedisClient;
  /**
   * URL of a server (`redis://`, `rediss://`, `unix://`) or of Sentinels (`redis+sentinel://host:port,host:port/name`,
   * `rediss+sentinel://`); one connection is opened at the first call and closed by `close()`.
   */
  readonly url?: string;
  /** The same by options: those of ioredis, or those of node-redis as far as they can be translated exactly. */
  readonly config?: Readonly<Record<string, unknown>>;
}

/** One of the fields of `T`, and none of the others. */
export type ExactlyOne<T> = {
  [K in keyof T]-?: Required<Pick<T, K>> & { readonly [Other in Exclude<keyof T, K>]?: undefined };
}[keyof T];

/** Settings of a store in Redis: of `RedisSessionStore`, and `redis` of a memory. */
export interface RedisStoreSettings {
  /** Prefix of all keys; without braces and white space. @default "lcmem" */
  readonly keyPrefix?: string;
  /** Milliseconds after which a call fails, at least 1. @default 5000 */
  readonly commandTimeout?: number;
  /**
   * Number of replicas that must acknowledge each write, at least 1; with fewer the write fails with a StoreError
   * `unavailable`.
   * @default none
   */
  readonly waitReplicas?: number;
  /**
   * Bytes of memory for recently read views, so that reads fetch only new records; 0 caches none. A record counts as
   * 400 bytes and 4 per character, about twice the memory of English text. @default 33_554_432
   */
  readonly viewCacheBytes?: number;
  /** Maximum size of a record and of an append, in bytes of UTF-8. @default 1,000,000 and 10,000,000 */
  readonly limits?: Partial<SizeLimits>;
}

/** Options of `RedisSessionStore`: exactly one of `client`, `url` and `config`, and settings. */
export type RedisSessionStoreOptions = RedisStoreSettings &
  ExactlyOne<ConnectionSource> & {
    /** Receives a `command` event for every round trip. */
    readonly onEvent?: MemoryEventHandler;
  };

/** The connection as fields of a schema; `openConnection` checks the values. */
export const connectionFields = lazy(() => ({
  client: z.optional(z.unknown()),
  url: z.optional(z.unknown()),
  config: z.optional(z.unknown()),
}));

/** The settings as fields of a schema. */
export const redisStoreFields = lazy(() => ({
  keyPrefix: z._default(
    z.string("must be a string").check(
      z.superRefine((value, context) => {
        const message = keyPrefixIssue(value);
        if (message !== undefined) {
          context.addIssue({ code: "custom", message });
        }
      }),
    ),
    defaultKeyPrefix,
  ),
  commandTimeout: z._default(positiveInteger().check(z.maximum(2_147_483_647, "must be at most 2147483647")), 5_000),
  waitReplicas: z.optional(positiveInteger()),
  viewCacheBytes: z._default(nonNegativeInteger(), 2 ** 25),
  limits: sizeLimits(),
}));

/** The options of a store by itself. */
export const redisStoreSchema = lazy(() =>
  z.strictObject({
    ...connectionFields(),
    ...redisStoreFields(),
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  }),
);
