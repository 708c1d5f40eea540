import * as z from "zod/mini";
import { ConfigurationError } from "../../base/errors.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, objectWith, positiveInteger } from "../../base/options.js";
import { contextOf, type RedisChatMemory } from "../../memory/histories/redis-chat-memory.js";
import { openConnection } from "../../store/redis/connection.js";
import { ScriptRunner } from "../../store/redis/script-runner.js";
import {
  connectionFields,
  redisStoreFields,
  type ConnectionSource,
  type ExactlyOne,
} from "../../store/redis/store-options.js";
import { wireOf } from "../../store/redis-store/redis-session-store.js";
import { checkEncryption, type EncryptionOptions } from "../../store/sealed/keys/encryption-options.js";
import { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { sealedParts } from "../../store/sealed/loaded-store.js";
import type { RedisSaverSettings } from "./saver-options.js";

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
