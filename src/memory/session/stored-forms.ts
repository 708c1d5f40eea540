import type { BaseMessage } from "@langchain/core/messages";
import * as z from "zod/mini";
import { copyMessage } from "../../store/codec/stored-record.js";
import { digestMessage } from "../../store/codec/encode-message.js";
import { ConfigurationError, RecordError } from "../../base/errors.js";
import { changeMessage } from "../../conversation/messages/change-message.js";
import { checkEncryption, type EncryptionOptions, KeyRing } from "../../store/sealed/keys/key-ring.js";
import type { MemoryEventHandler } from "../../base/events.js";
import { anyFunction, lazy, objectOf, withoutUndefined } from "../../base/options.js";
import { checkSessionStore } from "../../store/contract/groups.js";
import { sealedWhenUsed } from "../../store/sealed/loaded-store.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { RedisSessionStore } from "../../store/redis-store/redis-session-store.js";
import { connectionFields, redisStoreFields } from "../../store/redis/connection-options.js";
import type {
  ConnectionSource,
  ExactlyOne,
  RedisSessionStoreOptions,
  RedisStoreSettings,
} from "../../store/redis/connection-options.js";

/**
 * Maps a message to the message to store, or to a promise of it. Gets a copy, which it may mutate; changes of the id
 * are ignored. Throw an error to refuse the whole turn.
 * @example
 * import { RedisChatMemory, type BeforeStore } from "langchain-redis-memory";
 *
 * const withoutCardNumbers: BeforeStore = (message) => {
 *   if (typeof message.content === "string") {
 *     message.content = message.content.replaceAll(/\b\d{16}\b/g, "[card]");
 *   }
 *   return message;
 * };
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", beforeStore: withoutCardNumbers });
 */
export type BeforeStore = (message: BaseMessage) => BaseMessage | Promise<BaseMessage>;

interface KnownForm {
  /** Digest of the form's source content, to detect later changes of the message. */
  readonly digest: string;
  readonly form: Promise<BaseMessage>;
}

/** The stored form of each message, made by `beforeStore` once per message object. */
export class StoredForms {
  readonly #beforeStore: BeforeStore;
  readonly #forms = new WeakMap<BaseMessage, KnownForm>();

  constructor(beforeStore: BeforeStore) {
    this.#beforeStore = beforeStore;
  }

  /**
   * The stored forms of messages, in order, made one after another from their current content. Does not mutate them.
   *
   * @throws RecordError `refused` if the function throws, `unsupported_message` for a message that cannot be stored;
   * ConfigurationError `beforeStore` if it returns no message.
   */
  async of(messages: readonly BaseMessage[]): Promise<BaseMessage[]> {
    const copies = messages.map((message) => ({ message, copy: copyMessage(message), digest: digestMessage(message) }));
    const forms: BaseMessage[] = [];
    for (const { message, copy, digest } of copies) {
      const known = this.#forms.get(message);
      const form = known?.digest === digest ? known.form : this.#make(copy);
      if (form !== known?.form) {
        this.#forms.set(message, { digest, form });
        form.catch(() => this.#forms.delete(message));
      }
      forms.push(await form);
    }
    return forms;
  }

  async #make(copy: BaseMessage): Promise<BaseMessage> {
    const { id } = copy;
    const type = copy.getType();
    let form: BaseMessage;
    try {
      form = await this.#beforeStore(copy);
    } catch (cause) {
      const message = `beforeStore refused a message of type "${type}"; nothing was stored.`;
      throw new RecordError(message, { code: "refused", cause });
    }
    if (typeof (form as Partial<BaseMessage> | undefined)?.getType !== "function") {
      throw new ConfigurationError("beforeStore", 'The function "beforeStore" must return a message.');
    }
    return changeMessage(form, { id });
  }
}

/**
 * The forms to compare with stored messages. A message that `beforeStore` refuses is its own form: the write refuses
 * it.
 */
export async function comparableForms(
  messages: readonly BaseMessage[],
  forms: StoredForms | undefined,
): Promise<readonly BaseMessage[]> {
  const result: BaseMessage[] = [];
  for (const message of messages) {
    const [form = message] = (await forms?.of([message]).catch(() => [])) ?? [];
    result.push(form);
  }
  return result;
}

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
type StoreOptions = StoreSettings & ExactlyOne<StoreSource>;

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
interface OpenedStore {
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
