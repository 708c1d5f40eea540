import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, objectWith, positiveInteger, timeToLive, type TTL } from "../../base/options.js";
import { contextOf, type RedisChatMemory } from "../../memory/histories/redis-chat-memory.js";
import { openConnection } from "../../store/redis/connection.js";
import { ScriptRunner } from "../../store/redis/script-runner.js";
import { connectionFields, redisStoreFields } from "../../store/redis/connection-options.js";
import type { ConnectionSource, ExactlyOne } from "../../store/redis/connection-options.js";
import { wireOf } from "../../store/redis-store/redis-session-store.js";
import { checkEncryption, type EncryptionOptions, KeyRing } from "../../store/sealed/keys/key-ring.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";

/**
 * The options of a class with a connection of its own, or with that of a memory, beside which only the settings `Own`
 * remain.
 */
export type WiredOptions<Settings, Own extends keyof Settings> =
  | (Settings &
      ExactlyOne<ConnectionSource> & {
        /** Not together with a connection. */
        readonly memory?: undefined;
      })
  | (Pick<Settings, Own> & {
      /**
       * Memory whose connection, key prefix, timeout, replica acknowledgements, encryption and events are used;
       * `close()` leaves the connection open. The memory must use Redis.
       */
      readonly memory: RedisChatMemory;
    });

/** The options of whoever opens a wire: of a connection of its own, or the memory that lends one. */
type WireOptions = ConnectionSource & { readonly memory?: RedisChatMemory };

/** The settings of a wire, checked. */
type WireSettings = Pick<RedisSaverSettings, "encryption" | "onEvent"> &
  Required<Pick<RedisSaverSettings, "keyPrefix" | "commandTimeout">>;

/** The options that threads and long-term memory share, as fields of a schema. */
export const wireFields = lazy(() => {
  const { keyPrefix, commandTimeout } = redisStoreFields();
  return {
    ...connectionFields(),
    memory: z.optional(objectWith<RedisChatMemory>(["history"], "a RedisChatMemory")),
    keyPrefix,
    commandTimeout,
    onEvent: z.optional(anyFunction<MemoryEventHandler>()),
    encryption: z.optional(z.custom<EncryptionOptions>()),
    maxItemBytes: z._default(positiveInteger(), 8_000_000),
  };
});

/** The connection that threads or long-term memory are written on, and the keys that seal them. */
export interface ThreadWire {
  readonly runner: ScriptRunner;
  readonly keyPrefix: string;
  /** Undefined where plain text is stored. */
  readonly ring: KeyRing | undefined;
  readonly commandTimeout: number;
  readonly onEvent: MemoryEventHandler | undefined;
  close(): Promise<void>;
}

/** The wire of the memory that the options of `user` name, or a new one on their connection. */
export function openWire(user: string, options: WireOptions, checked: WireSettings): ThreadWire {
  if (options.memory !== undefined) {
    return lentWire(user, options.memory, options);
  }
  const { encryption, keyPrefix, commandTimeout, onEvent } = checked;
  if (encryption !== undefined) {
    checkEncryption(user, encryption);
  }
  const connection = openConnection(user, options, commandTimeout);
  const runner = new ScriptRunner({ connection, commandTimeout, waitReplicas: undefined, onEvent });
  const ring = encryption && KeyRing.of(encryption);
  const close = async () => {
    runner.close();
    await connection.close(commandTimeout);
  };
  return { runner, keyPrefix, ring, commandTimeout, onEvent, close };
}

/** Options that come from the memory that lends its connection. */
const lent = ["client", "url", "config", "keyPrefix", "commandTimeout", "encryption", "onEvent"] as const;

function lentWire(user: string, memory: RedisChatMemory, options: WireOptions): ThreadWire {
  const surplus = lent.find((name) => (options as Readonly<Record<string, unknown>>)[name] !== undefined);
  if (surplus !== undefined) {
    throw new ConfigurationError(
      surplus,
      `${user}: option "${surplus}" cannot be combined with "memory"; the memory's own value is used, so leave it out.`,
    );
  }
  const context = contextOf(memory);
  const sealed = context && sealedParts(context.source);
  const wire = context && wireOf(sealed?.store ?? context.source);
  if (wire === undefined) {
    throw new ConfigurationError(
      "memory",
      `${user}: option "memory" must be a RedisChatMemory on Redis; give "client", "url" or "config" instead.`,
    );
  }
  return { ...wire, ring: sealed?.keys.ring, onEvent: context?.onEvent, close: async () => undefined };
}

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
