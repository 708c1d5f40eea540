import { BaseStore, InvalidNamespaceError } from "@langchain/langgraph-checkpoint";
import type { Operation, OperationResults, PutOperation } from "@langchain/langgraph-checkpoint";
import * as z from "zod/mini";
import type { MemoryEventHandler } from "../../base/events.js";
import { lazy, parseOptions, timeToLive, withoutUndefined, type TTL } from "../../base/options.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import type { EncryptionOptions } from "../../store/sealed/keys/key-ring.js";
import { openWire, wireFields, type ThreadWire, type WiredOptions } from "../checkpoint/thread-wire.js";
import { runBatch, type BatchSetting } from "./batch.js";
import { clearItems } from "../../store/redis/stored-items.js";
import { checkLabels, checkOperation, type ItemPut } from "./operations.js";

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
const itemStoreSchema = lazy(() => z.strictObject({ ...wireFields(), itemTTL: z.optional(timeToLive()) }));

/**
 * LangGraph's long-term memory on plain Redis 6.2 or later, Valkey, or a cluster of either: JSON
 * values by namespace and key, shared by all threads.
 *
 * Each call is one script and one round trip, also a batch. All items of a key prefix lie in one hash slot, so a batch
 * is atomic across namespaces.
 *
 * @example
 * import { RedisStore } from "langchain-redis-memory/checkpoint";
 *
 * const store = RedisStore.fromUrl("redis://localhost:6379", { itemTTL: { seconds: 2_592_000, refreshOnRead: true } });
 * await store.put(["users", "ann"], "language", { code: "fr", since: 2026 });
 * const item = await store.get(["users", "ann"], "language");
 * const recent = await store.search(["users"], { filter: { since: { $gte: 2025 } } });
 * await store.deleteNamespace(["users", "ann"]);
 * await store.close();
 */
export class RedisStore extends BaseStore {
  readonly #options: ReturnType<typeof checkedOptions>;
  readonly #wire: ThreadWire;
  readonly #batches: BatchSetting;

  /** Connects with the first call. @throws ConfigurationError naming the option. */
  constructor(options: RedisStoreOptions) {
    super();
    this.#options = checkedOptions(options);
    this.#wire = openWire("RedisStore", options, this.#options);
    const { ring, onEvent } = this.#wire;
    const { maxItemBytes } = this.#options;
    this.#batches = { wire: this.#wire, sealed: new SealedTexts(ring, "item", this.#wire), maxItemBytes, onEvent };
  }

  /** A store on its own connection to the URL. */
  static fromUrl(url: string, options: ItemStoreSettings = {}): RedisStore {
    return new RedisStore({ ...options, url });
  }

  /**
   * Runs operations atomically in one round trip. Reads see the state before the writes; the last of several writes of
   * one item wins. Returns one result per operation, `null` for writes.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    const checked = operations.map((operation) => checkOperation(operation, this.#options.itemTTL));
    return (await runBatch(checked, this.#batches)) as OperationResults<Op>;
  }

  /** Stores an item as JSON; a `null` value removes it. `index` has no effect: there is no vector index. */
  override async put(
    namespace: string[],
    key: string,
    value: PutOperation["value"] & object,
    index?: PutOperation["index"],
    options: {
      /** Expiry of this item. @default the option of the store */
      readonly itemTTL?: TTL;
    } = {},
  ): Promise<void> {
    if (namespace[0] === "langgraph") {
      throw new InvalidNamespaceError('The first label of a namespace cannot be "langgraph".');
    }
    const { itemTTL } = options;
    const operation: ItemPut = { namespace, key, value, ...(index !== undefined && { index }), itemTTL };
    await this.batch([operation]);
  }

  /**
   * Removes every item of a namespace and its descendants and returns their number. An empty prefix removes everything,
   * also the rest of a damaged store.
   */
  async deleteNamespace(namespacePrefix: readonly string[]): Promise<number> {
    checkLabels(namespacePrefix);
    return clearItems(this.#wire, namespacePrefix);
  }

  /** Closes the store's own connection; one that it shares with a memory stays open. */
  async close(): Promise<void> {
    await this.#wire.close();
  }

  /** The same as `close`. */
  override stop(): Promise<void> {
    return this.close();
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function checkedOptions(options: RedisStoreOptions) {
  return parseOptions("RedisStore", itemStoreSchema(), withoutUndefined(options));
}
