import {
  BaseStore,
  InvalidNamespaceError,
  type Operation,
  type OperationResults,
  type PutOperation,
} from "@langchain/langgraph-checkpoint";
import { parseOptions, withoutUndefined, type TTL } from "../../base/options.js";
import { SealedTexts } from "../../store/sealed/sealed-texts.js";
import { openWire, type ThreadWire } from "../checkpoint/thread-wire.js";
import { runBatch, type BatchSetting } from "./batch.js";
import { clearItems } from "../../store/redis/stored-items.js";
import { checkLabels } from "./namespaces.js";
import { checkOperation, type ItemPut } from "./operations.js";
import { itemStoreSchema, type RedisStoreOptions, type ItemStoreSettings } from "./store-options.js";

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
