import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import { z } from "zod";
import { ConfigurationError, RecordError } from "../../errors.js";
import { report, type MemoryEventHandler } from "../../events.js";
import { anyFunction, lazy, parseOptions, positiveInteger } from "../../options.js";
import { checkSessionStore, requireCapability, type StoreWith } from "../../store/capabilities.js";
import { checkSessionId } from "../../store/session-id.js";
import { RedisSessionStore, type RedisSessionStoreOptions } from "../../store/redis/redis-session-store.js";
import type { SessionStore } from "../../store/session-store.js";
import { systemClock, type Clock } from "../timestamp.js";
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
export interface RedisToolInvocationHistoryOptions extends RedisSessionStoreOptions {
  /** The session whose tool runs these are; the same as that of its `RedisChatMessageHistory`. */
  readonly sessionId: string;
  /** A store of your own, or that of the session's history. It is never closed. */
  readonly store?: SessionStore;
  /**
   * Seconds after which the whole session expires, from each record on; at least 1.
   * @default the expiry stays as it is
   */
  readonly sessionTTL?: number;
  /** Number of records that are kept; beyond it the oldest go. At least 1. @default 1000 */
  readonly limit?: number;
  /**
   * Characters of inputs and of outputs that are kept of each run, at least 1; the whole result is in the conversation.
   * @default 20_000
   */
  readonly maxCharacters?: number;
  /** Gives the timestamp of records without one. @default the machine's time */
  readonly clock?: Clock;
}

const owner = "RedisToolInvocationHistory";
const prefix = "tool:";

const ownFields = lazy(() => ({
  sessionId: z.unknown(),
  store: z.custom<SessionStore>().optional(),
  sessionTTL: positiveInteger.optional(),
  limit: positiveInteger.default(1_000),
  maxCharacters: positiveInteger.default(20_000),
  clock: anyFunction<Clock>().optional(),
  onEvent: anyFunction<MemoryEventHandler>().optional(),
}));

/**
 * A log of a session's tool runs that lives with the session in Redis: in the same hash slot, with the same expiry,
 * gone when the session is cleared.
 *
 * Adding is one round trip whatever the length of the log, reading is one. Several processes may add at once. Records
 * are in the order of their ids, which is that of their writers' clocks.
 *
 * @example
 * const log = new RedisToolInvocationHistory({ sessionId: "user-1", url: "redis://localhost:6379", limit: 200 });
 * await agent.invoke(input, { callbacks: [log.callbackHandler()] });
 * await log.filter({ toolCallId: "call_1" });
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

  /** @throws ConfigurationError naming the option. */
  constructor(options: RedisToolInvocationHistoryOptions) {
    const { sessionId, store, sessionTTL, limit, maxCharacters, clock, onEvent } = parseOptions(
      owner,
      z.object(ownFields()),
      options,
    );
    checkSessionId(sessionId);
    this.sessionId = sessionId;
    this.#ttlMs = sessionTTL === undefined ? undefined : sessionTTL * 1000;
    this.#limit = limit;
    this.#maxCharacters = maxCharacters;
    this.#clock = clock ?? systemClock;
    this.#onEvent = onEvent;
    this.#ownsStore = store === undefined;
    this.#store = store === undefined ? new RedisSessionStore(connectionOf(options, onEvent)) : withSideData(store);
    if (store !== undefined) {
      refuseConnection(options);
    }
  }

  /** Adds a run and returns its record, with its id and timestamp, as it was written. */
  async addInvocation(invocation: NewToolInvocation): Promise<ToolInvocation> {
    const record = clipInvocation(
      newInvocation(`${owner}.addInvocation`, invocation, this.#clock),
      this.#maxCharacters,
    );
    await this.#store.writeSide(this.sessionId, {
      set: { [`${prefix}${record.id}`]: JSON.stringify(record) },
      bound: { prefix, keep: this.#limit },
      ...(this.#ttlMs !== undefined && { ttlMs: this.#ttlMs }),
    });
    return record;
  }

  /** All records, oldest first. One that cannot be read is left out and reported to `onEvent`. */
  async toList(): Promise<ToolInvocation[]> {
    const fields = Object.entries(await this.#store.readSide(this.sessionId, prefix));
    return fields.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, text]) => this.#read(name, text) ?? []);
  }

  /** The records for which all of the filter holds. */
  async filter(filter: ToolInvocationFilter): Promise<ToolInvocation[]> {
    return filterInvocations(`${owner}.filter`, await this.toList(), filter);
  }

  /** A LangChain callback handler that adds every tool run to this log by itself. */
  callbackHandler(): BaseCallbackHandler {
    return new ToolCallbackHandler({ record: (invocation) => this.addInvocation(invocation), clock: this.#clock });
  }

  /** Number of records. */
  get length(): Promise<number> {
    return this.toList().then((records) => records.length);
  }

  /** The records that are there when the iteration begins. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<ToolInvocation> {
    yield* await this.toList();
  }

  /** Closes the connection if this log opened one. */
  async close(): Promise<void> {
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
      const error = new RecordError(`The tool record ${name} cannot be read.`, { code: "corrupt" });
      report(this.#onEvent, { type: "record_skipped", sessionId: this.sessionId, position: undefined, error });
      return undefined;
    }
  }
}

function withSideData(store: SessionStore): StoreWith<"sideData"> {
  checkSessionStore(owner, store);
  return requireCapability(owner, store, "sideData");
}

function connectionOf(
  options: RedisToolInvocationHistoryOptions,
  onEvent: MemoryEventHandler | undefined,
): RedisSessionStoreOptions {
  const entries = Object.entries(options).filter(
    ([name, value]) => !Object.hasOwn(ownFields(), name) && value !== undefined,
  );
  return { ...Object.fromEntries(entries), ...(onEvent && { onEvent }) };
}

function refuseConnection(options: RedisToolInvocationHistoryOptions): void {
  const surplus = Object.keys(connectionOf(options, undefined))[0];
  if (surplus !== undefined) {
    throw new ConfigurationError(
      surplus,
      `${owner}: option "${surplus}" does not go with "store"; give it to the store instead.`,
    );
  }
}
