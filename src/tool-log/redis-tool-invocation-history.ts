import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import * as z from "zod/mini";
import { refuseSealedFields } from "../sealed/keys/sealed-field.js";
import { RecordError } from "../base/errors.js";
import { report, type MemoryEventHandler } from "../base/events.js";
import { anyFunction, lazy, parseOptions, positiveInteger } from "../base/options.js";
import { requireCapability, type StoreWith } from "../store/capabilities.js";
import { refreshedOnRead } from "../store/refreshing-store.js";
import { checkSessionId } from "../store/session-id-rules.js";
import { openStore, storeFields, type StoreOptions } from "../session/open-store.js";
import { systemClock, type Clock } from "../openai/timestamp.js";
import { ToolCallbackHandler } from "./tool-callback-handler.js";
import {
  clipInvocation,
  filterInvocations,
  newInvocation,
  parseInvocations,
  type NewToolInvocation,
  type ToolInvocation,
  type ToolInvocationFilter,
} from "./tool-invocation.js";

/** Options of {@link RedisToolInvocationHistory}. One of `client`, `url`, `config` and `store` is required. */
export type RedisToolInvocationHistoryOptions = StoreOptions & {
  /** The session that the tool runs belong to; the same id as that of its `RedisChatMessageHistory`. */
  readonly sessionId: string;
  /**
   * Seconds after the latest record until the whole session expires. At least 1.
   * @default the expiry stays as it is
   */
  readonly sessionTTL?: number;
  /** Reads extend the session's expiry, too; see the option of `RedisChatMemory`. @default false */
  readonly refreshTTLOnRead?: boolean;
  /** Maximum number of records; the oldest are dropped. At least 1. @default 1000 */
  readonly limit?: number;
  /**
   * Maximum characters of each run's inputs, and of its outputs; longer ones are cut. At least 1. The conversation
   * keeps the whole result.
   * @default 20_000
   */
  readonly maxCharacters?: number;
  /** Provides the timestamp of records without one. @default the system clock */
  readonly clock?: Clock;
};

const owner = "RedisToolInvocationHistory";
const prefix = "tool:";

const optionsSchema = lazy(() =>
  z.strictObject({
    ...storeFields(),
    sessionId: z.unknown(),
    sessionTTL: z.optional(positiveInteger()),
    refreshTTLOnRead: z._default(z.boolean("must be true or false"), false),
    limit: z._default(positiveInteger(), 1_000),
    maxCharacters: z._default(positiveInteger(), 20_000),
    clock: z.optional(anyFunction<Clock>()),
  }),
);

/**
 * A log of a session's tool runs, stored with the session in Redis: in the same hash slot, with the same expiry, and
 * deleted when the session is cleared.
 *
 * Adding takes one round trip whatever the length of the log; reading takes one. Several processes may add at the same
 * time. Records are sorted by id, which follows the clocks of their writers.
 *
 * @example
 * import { tool } from "@langchain/core/tools";
 * import { RedisToolInvocationHistory } from "langchain-redis-memory/openai";
 * import { z } from "zod";
 *
 * const weather = tool(() => "4 °C", { name: "weather", description: "The weather.", schema: z.object({}) });
 * const log = new RedisToolInvocationHistory({ sessionId: "user-1", url: "redis://localhost:6379", limit: 200 });
 * await weather.invoke({}, { callbacks: [log.callbackHandler()] });
 * const failed = await log.filter({ status: "error" });
 * await log.close();
 */
export class RedisToolInvocationHistory implements AsyncIterable<ToolInvocation>, AsyncDisposable {
  /** The session's id. */
  readonly sessionId: string;
  readonly #store: StoreWith<"sideData">;
  readonly #ownsStore: boolean;
  readonly #ttlMs: number | undefined;
  readonly #limit: number;
  readonly #maxCharacters: number;
  readonly #clock: Clock;
  readonly #onEvent: MemoryEventHandler | undefined;
  /** Extensions of the session's life under way. */
  readonly #pending = new Set<Promise<unknown>>();

  /** @throws ConfigurationError naming the option. */
  constructor(options: RedisToolInvocationHistoryOptions) {
    const checked = parseOptions(owner, optionsSchema(), options);
    const { sessionId, sessionTTL, limit, maxCharacters, clock, onEvent } = checked;
    checkSessionId(sessionId);
    this.sessionId = sessionId;
    this.#ttlMs = sessionTTL === undefined ? undefined : sessionTTL * 1000;
    this.#limit = limit;
    this.#maxCharacters = maxCharacters;
    this.#clock = clock ?? systemClock;
    this.#onEvent = onEvent;
    const { store, ownsStore } = openStore(owner, options);
    this.#ownsStore = ownsStore;
    const refreshing = { ttlMs: this.#ttlMs, pending: this.#pending };
    const read = checked.refreshTTLOnRead ? refreshedOnRead(owner, store, refreshing) : store;
    this.#store = requireCapability(owner, read, "sideData");
  }

  /** Adds a run and returns its record as written, with its id and timestamp. */
  async addInvocation(invocation: NewToolInvocation): Promise<ToolInvocation> {
    const record = clipInvocation(
      newInvocation(`${owner}.addInvocation`, invocation, this.#clock),
      this.#maxCharacters,
    );
    await this.#store.writeSide(
      { id: this.sessionId },
      {
        set: { [`${prefix}${record.id}`]: JSON.stringify(record) },
        bound: { prefix, keep: this.#limit },
        ...(this.#ttlMs !== undefined && { ttlMs: this.#ttlMs }),
      },
    );
    return record;
  }

  /** Returns all records, oldest first. Skips records that cannot be read and reports them to `onEvent`. */
  async toList(): Promise<ToolInvocation[]> {
    const fields = Object.entries(await this.#store.readSide({ id: this.sessionId }, prefix));
    const texts = fields.map(([, text]) => text);
    refuseSealedFields(this.sessionId, texts);
    return fields.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, text]) => this.#read(name, text) ?? []);
  }

  /** Returns the records that match every field of the filter. */
  async filter(filter: ToolInvocationFilter): Promise<ToolInvocation[]> {
    return filterInvocations(`${owner}.filter`, await this.toList(), filter);
  }

  /** Creates a LangChain callback handler that adds every tool run to this log. */
  callbackHandler(): BaseCallbackHandler {
    return new ToolCallbackHandler({ record: (invocation) => this.addInvocation(invocation), clock: this.#clock });
  }

  /** Number of records. */
  get length(): Promise<number> {
    return this.toList().then((records) => records.length);
  }

  /** Iterates over the records that exist when the iteration begins. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<ToolInvocation> {
    yield* await this.toList();
  }

  /** Closes the connection if this log opened one. */
  async close(): Promise<void> {
    await Promise.all(this.#pending);
    await (this.#ownsStore ? this.#store.close?.() : undefined);
  }

  /** The same as `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #read(name: string, text: string): ToolInvocation | undefined {
    try {
      return parseInvocations(owner, [JSON.parse(text)], this.#clock)[0];
    } catch {
      const error = new RecordError(`Tool record ${name} is not a valid record; it was skipped.`, { code: "corrupt" });
      report(this.#onEvent, { type: "record_skipped", sessionId: this.sessionId, position: undefined, error });
      return undefined;
    }
  }
}
