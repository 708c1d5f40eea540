import * as z from "zod/mini";
import { checkEncryption, type EncryptionOptions } from "../../store/sealed/keys/encryption-options.js";
import { KeyRing } from "../../store/sealed/keys/key-ring.js";
import { ConfigurationError } from "../../base/errors.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, objectOf, withoutUndefined } from "../../base/options.js";
import { checkSessionStore } from "../../store/contract/groups.js";
import { sealedWhenUsed } from "../../store/sealed/loaded-store.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { RedisSessionStore } from "../../store/redis-store/redis-session-store.js";
import {
  connectionFields,
  redisStoreFields,
  type ConnectionSource,
  type ExactlyOne,
  type RedisSessionStoreOptions,
  type RedisStoreSettings,
} from "../../store/redis/store-options.js";

/** Store of the sessions. */
export interface StoreSource extends ConnectionSource {
  /** A `RedisSessionStore` or an `InMemorySessionStore`, in place of a connection. It is never closed. */
  readonly store?: SessionStore;
}

/** Settings of the store. */
export interface StoreSettings {
  /** Keys, time and size on Redis; a given `store` takes these itself. */
  readonly redis?: RedisStoreSettings;
  /**
   * Encrypts messages, summaries and side data with AES-256-GCM before they leave the process. Ids, owners, times,
   * sizes, roles and model names stay plain. See docs/encryption.md. @default stored as plain text
   */
  readonly encryption?: EncryptionOptions;
  /** Receives the events of the memory, and a `command` event for every round trip. */
  readonly onEvent?: MemoryEventHandler;
}

/** Store of the sessions: exactly one of `client`, `url`, `config` and `store`, and settings. */
export type StoreOptions = StoreSettings & ExactlyOne<StoreSource>;

/** The same as fields of a schema. */
export const storeFields = lazy(() => ({
  ...connectionFields(),
  store: z.optional(z.custom<SessionStore>()),
  redis: z.optional(
    objectOf(redisStoreFields(), "an object with keyPrefix, commandTimeout, waitReplicas, viewCacheBytes and limits"),
  ),
  onEvent: z.optional(anyFunction<MemoryEventHandler>()),
  encryption: z.optional(z.custom<EncryptionOptions>()),
}));

/** A store, and whether it was opened here and so has to be closed. */
export interface OpenedStore {
  readonly store: SessionStore;
  readonly ownsStore: boolean;
}

/**
 * Returns the given store, or opens one on the connection that the options name. Ignores other options, which the
 * caller has checked; errors name `owner`.
 *
 * @throws ConfigurationError naming the option: for a value that is not a store, for a connection option together with
 * a store, and for an invalid connection.
 */
export function openStore(owner: string, options: StoreOptions): OpenedStore {
  const { encryption } = options;
  if (encryption === undefined) {
    return openPlainStore(owner, options);
  }
  checkEncryption(owner, encryption);
  const { store, ownsStore } = openPlainStore(owner, options);
  return { store: sealedWhenUsed(store, KeyRing.of(encryption)), ownsStore };
}

function openPlainStore(owner: string, options: StoreOptions): OpenedStore {
  const { store, client, url, config, redis, onEvent } = options;
  if (store === undefined) {
    const opened = { ...redis, ...withoutUndefined({ client, url, config, onEvent }) } as RedisSessionStoreOptions;
    return { store: new RedisSessionStore(opened, owner), ownsStore: true };
  }
  checkSessionStore(owner, store);
  const [surplus] = Object.keys(withoutUndefined({ client, url, config, redis }));
  if (surplus !== undefined) {
    throw new ConfigurationError(
      surplus,
      `${owner}: option "${surplus}" cannot be combined with "store"; give it to the store instead.`,
    );
  }
  return { store, ownsStore: false };
}
