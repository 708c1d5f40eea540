import { z } from "zod";
import { ConfigurationError } from "../../errors.js";
import { lazy } from "../../options.js";
import { checkSessionStore } from "../capabilities.js";
import type { SessionStore } from "../session-store.js";
import { RedisSessionStore } from "./redis-session-store.js";
import {
  redisStoreFields,
  type ConnectionSource,
  type ExactlyOne,
  type RedisSessionStoreOptions,
  type RedisStoreSettings,
} from "./redis-store-options.js";

/** Where sessions are kept. */
export interface StoreSource extends ConnectionSource {
  /** A store of your own or an `InMemorySessionStore`, in place of a connection. It is never closed. */
  readonly store?: SessionStore;
}

/** Where sessions are kept: exactly one of `client`, `url`, `config` and `store`, and settings of the connection. */
export type StoreOptions = RedisStoreSettings & ExactlyOne<StoreSource>;

/** The same as fields of a schema. */
export const storeFields = lazy(() => ({ ...redisStoreFields(), store: z.custom<SessionStore>().optional() }));

/** A store, and whether it was made here and has to be closed. */
export interface OpenedStore {
  readonly store: SessionStore;
  readonly ownsStore: boolean;
}

/**
 * Returns the store that was given, or a new one on the connection that the options name. They may hold other options
 * besides, which the caller has checked; errors name `owner`.
 *
 * @throws ConfigurationError naming the option: for a value that is not a store, for an option of the connection beside
 *   a store, and for a connection that cannot be used.
 */
export function openStore(owner: string, options: StoreOptions): OpenedStore {
  const { store, ...rest } = options;
  const connection = Object.fromEntries(
    Object.entries(rest).filter(([name, value]) => Object.hasOwn(redisStoreFields(), name) && value !== undefined),
  );
  if (store === undefined) {
    return { store: new RedisSessionStore(connection as unknown as RedisSessionStoreOptions, owner), ownsStore: true };
  }
  checkSessionStore(owner, store);
  const surplus = Object.keys(connection).find((name) => name !== "onEvent");
  if (surplus !== undefined) {
    throw new ConfigurationError(
      surplus,
      `${owner}: option "${surplus}" cannot be combined with "store"; give it to the store instead.`,
    );
  }
  return { store, ownsStore: false };
}
