import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import * as z from "zod/mini";
import { AIMessage, ToolMessage, type MessageContent } from "@langchain/core/messages";
import { parseOptions, positiveInteger, inspectedAs, lazy, nonEmptyText, objectWith } from "../../base/options.js";
import { parseJson, isPlainObject } from "../../base/json.js";
import {
  ToolCallbackHandler,
  filterInvocations,
  newInvocation,
  parseInvocations,
  clipInvocation,
} from "./tool-invocation.js";
import type { NewToolInvocation, ToolInvocation, ToolInvocationFilter } from "./tool-invocation.js";
import { ConfigurationError, RecordError } from "../../base/errors.js";
import { report } from "../../base/events.js";
import type { RedisChatMemory } from "../../memory/histories/redis-chat-memory.js";
import { historySession, type RedisChatMessageHistory } from "../../memory/histories/redis-chat-message-history.js";
import type { ConversationSession } from "../../memory/session/conversation-session.js";
import type { SessionStore } from "../../store/contract/session-store.js";
import { callsOf, textOf, type Block } from "../../conversation/messages/content.js";
import { fieldsOf, valueIn } from "../../conversation/messages/message.js";
import type { StoredForms } from "../../memory/session/stored-forms.js";

/** Options of {@link ToolInvocationHistory}. */
export interface ToolInvocationHistoryOptions {
  /** Maximum number of records; the oldest are dropped. At least 1. @default no limit */
  readonly limit?: number;
}

const owner = "ToolInvocationHistory";

/**
 * A log of tool runs, separate from the conversation: inputs, outputs, status and duration.
 *
 * Copies records in and out, and keeps them in the order in which they were added.
 *
 * @example
 * import { tool } from "@langchain/core/tools";
 * import { ToolInvocationHistory } from "langchain-redis-memory/openai";
 * import { z } from "zod";
 *
 * const weather = tool(() => "4 °C", { name: "weather", description: "The weather.", schema: z.object({}) });
 * const log = new ToolInvocationHistory();
 * await weather.invoke({}, { callbacks: [log.callbackHandler()] });
 * const failed = log.filter({ status: "error" });
 */
export class ToolInvocationHistory implements Iterable<ToolInvocation> {
  readonly #limit: number;
  #records: ToolInvocation[];

  /** @throws ConfigurationError naming the invalid field, such as `records.2.status`. */
  constructor(
    records: readonly (NewToolInvocation & {
      /** The record's id. @default one that sorts by time */
      readonly id?: string;
    })[] = [],
    options: ToolInvocationHistoryOptions = {},
  ) {
    const schema = z.strictObject({ limit: z.optional(positiveInteger()) });
    const { limit = Infinity } = parseOptions(owner, schema, options);
    this.#limit = limit;
    this.#records = parseInvocations(owner, records);
    this.#dropOldest();
    inspectedAs(this, () => this.toString());
  }

  /** Restores a log from what `JSON.stringify(log)` wrote. */
  static fromJSON(text: string, options?: ToolInvocationHistoryOptions): ToolInvocationHistory {
    return new ToolInvocationHistory(parseJson(text, `${owner}.fromJSON`) as ToolInvocation[], options);
  }

  /** Adds a run and returns its record, with its id and timestamp. */
  addInvocation(invocation: NewToolInvocation): ToolInvocation {
    const record = newInvocation(`${owner}.addInvocation`, invocation);
    this.#records.push(record);
    this.#dropOldest();
    return structuredClone(record);
  }

  /** Returns all records, oldest first. */
  toList(): ToolInvocation[] {
    return this.#records.map((record) => structuredClone(record));
  }

  /** Returns the records that match every field of the filter. */
  filter(filter: ToolInvocationFilter): ToolInvocation[] {
    return filterInvocations(`${owner}.filter`, this.#records, filter).map((record) => structuredClone(record));
  }

  /** Creates a LangChain callback handler that adds every tool run to this log. */
  callbackHandler(): BaseCallbackHandler {
    return new ToolCallbackHandler((invocation) => this.addInvocation(invocation));
  }

  /** Number of records. */
  get length(): number {
    return this.#records.length;
  }

  /** Returns the records as `toList` does, for `JSON.stringify(log)`. */
  toJSON(): ToolInvocation[] {
    return this.toList();
  }

  /** Iterates over copies of the records that exist when the iteration begins. */
  *[Symbol.iterator](): IterableIterator<ToolInvocation> {
    for (const record of this.#records.slice()) {
      yield structuredClone(record);
    }
  }

  /** Returns `ToolInvocationHistory(3 invocations)`. */
  toString(): string {
    return `${owner}(${this.length} invocations)`;
  }

  #dropOldest(): void {
    if (this.#records.length > this.#limit) {
      this.#records = this.#records.slice(-this.#limit);
    }
  }
}

/** Options of {@link RedisToolInvocationHistory}: a history, or a memory and the session's id. */
export interface RedisToolInvocationHistoryOptions {
  /** The history of the session that the tool runs belong to. Give this or `memory`, not both. */
  readonly history?: RedisChatMessageHistory;
  /** The memory that the session belongs to; needs `sessionId`. Give this or `history`, not both. */
  readonly memory?: RedisChatMemory;
  /** The session's id; only with `memory`. */
  readonly sessionId?: string;
  /** Maximum number of records; the oldest are dropped. At least 1. @default 1000 */
  readonly limit?: number;
  /**
   * Maximum characters of each run's inputs, and of its outputs; longer ones are cut. At least 1. The conversation
   * keeps the whole result.
   * @default 20_000
   */
  readonly maxCharacters?: number;
}

const redisOwner = "RedisToolInvocationHistory";
const prefix = "tool:";

const optionsSchema = lazy(() =>
  z.strictObject({
    history: z.optional(objectWith<RedisChatMessageHistory>(["getMessages"], "a RedisChatMessageHistory")),
    memory: z.optional(objectWith<RedisChatMemory>(["history"], "a RedisChatMemory")),
    sessionId: z.optional(nonEmptyText()),
    limit: z._default(positiveInteger(), 1_000),
    maxCharacters: z._default(positiveInteger(), 20_000),
  }),
);

/**
 * A log of a session's tool runs, stored with the session in Redis: in the same hash slot, with the same expiry, and
 * deleted when the session is cleared.
 *
 * Adding takes one round trip whatever the length of the log; reading takes one. Several processes may add at the same
 * time. Records are sorted by id, which follows the clocks of their writers. Connection, keys, expiry, encryption and
 * events are those of the history or memory, which also closes the connection. Its `beforeStore` is given each run as
 * the call and the result that a conversation stores, and the log keeps what it leaves of arguments and result; names,
 * ids and `meta` stay.
 *
 * @example
 * import { tool } from "@langchain/core/tools";
 * import { RedisChatMemory } from "langchain-redis-memory";
 * import { RedisToolInvocationHistory } from "langchain-redis-memory/openai";
 * import { z } from "zod";
 *
 * const weather = tool(() => "4 °C", { name: "weather", description: "The weather.", schema: z.object({}) });
 * const memory = new RedisChatMemory({ url: "redis://localhost:6379", sessionTTL: 86_400 });
 * const log = new RedisToolInvocationHistory({ history: memory.history("user-1"), limit: 200 });
 * await weather.invoke({}, { callbacks: [log.callbackHandler()] });
 * const failed = await log.filter({ status: "error" });
 * await memory.close();
 */
export class RedisToolInvocationHistory implements AsyncIterable<ToolInvocation> {
  readonly #session: ConversationSession;
  readonly #store: SessionStore;
  readonly #limit: number;
  readonly #maxCharacters: number;

  /** @throws ConfigurationError naming the option. */
  constructor(options: RedisToolInvocationHistoryOptions) {
    const { limit, maxCharacters, ...source } = parseOptions(redisOwner, optionsSchema(), options);
    this.#session = historySession(redisOwner, historyOf(source));
    this.#store = this.#session.context.store;
    this.#limit = limit;
    this.#maxCharacters = maxCharacters;
    inspectedAs(this, () => `${redisOwner}(session ${JSON.stringify(this.sessionId)})`);
  }

  /** The session's id. */
  get sessionId(): string {
    return this.#session.sessionId;
  }

  /**
   * Adds a run and returns its record as written, with its id and timestamp.
   *
   * @throws RecordError `refused` if the memory's `beforeStore` throws.
   */
  async addInvocation(invocation: NewToolInvocation): Promise<ToolInvocation> {
    const { ref, context } = this.#session;
    const run = newInvocation(`${redisOwner}.addInvocation`, invocation);
    // Before it is cut: half of a card number would not be found.
    const stored = context.forms === undefined ? run : await storedInvocation(run, context.forms);
    const record = clipInvocation(stored, this.#maxCharacters);
    await this.#store.data.writeSide(ref, {
      set: { [`${prefix}${record.id}`]: JSON.stringify(record) },
      bound: { prefix, keep: this.#limit },
      ...(context.ttlMs !== undefined && { ttlMs: context.ttlMs }),
    });
    return record;
  }

  /** All records, oldest first. One that cannot be read is left out, and reported to the memory's `onEvent`. */
  async toList(): Promise<ToolInvocation[]> {
    const fields = Object.entries(await this.#store.data.readSide(this.#session.ref, prefix));
    return fields.sort(([a], [b]) => (a < b ? -1 : 1)).flatMap(([name, text]) => this.#read(name, text) ?? []);
  }

  /** Returns the records that match every field of the filter. */
  async filter(filter: ToolInvocationFilter): Promise<ToolInvocation[]> {
    return filterInvocations(`${redisOwner}.filter`, await this.toList(), filter);
  }

  /** Creates a LangChain callback handler that adds every tool run to this log. */
  callbackHandler(): BaseCallbackHandler {
    return new ToolCallbackHandler((invocation) => this.addInvocation(invocation));
  }

  /** Number of records. */
  get length(): Promise<number> {
    return this.toList().then((records) => records.length);
  }

  /** Iterates over the records that exist when the iteration begins. */
  async *[Symbol.asyncIterator](): AsyncIterableIterator<ToolInvocation> {
    yield* await this.toList();
  }

  #read(name: string, text: string): ToolInvocation | undefined {
    try {
      return parseInvocations(redisOwner, [JSON.parse(text)])[0];
    } catch {
      const error = new RecordError(`Tool record ${name} is not a valid record; it was skipped.`, { code: "corrupt" });
      report(this.#session.context.onEvent, {
        type: "record_skipped",
        sessionId: this.sessionId,
        position: undefined,
        error,
      });
      return undefined;
    }
  }
}

/** The history that the options name. */
function historyOf({
  history,
  memory,
  sessionId,
}: Pick<RedisToolInvocationHistoryOptions, "history" | "memory" | "sessionId">): object {
  if ((history === undefined) === (memory === undefined)) {
    throw new ConfigurationError("history", `${redisOwner}: give one of "history" and "memory".`);
  }
  if ((memory === undefined) !== (sessionId === undefined)) {
    const reason = memory === undefined ? 'a "history" has its own session' : 'a "memory" needs a "sessionId"';
    throw new ConfigurationError("sessionId", `${redisOwner}: ${reason}.`);
  }
  return history ?? memory!.history(sessionId!);
}

/**
 * A run as `beforeStore` lets a conversation store its call and result: what it takes out of them is in no log either.
 *
 * @throws RecordError `refused` if it throws.
 */
async function storedInvocation(run: ToolInvocation, forms: StoredForms): Promise<ToolInvocation> {
  const { name = "", toolCallId = run.id } = run;
  const args = isPlainObject(run.inputs) ? run.inputs : { input: run.inputs };
  const call = new AIMessage({ content: "", tool_calls: [{ type: "tool_call", id: toolCallId, name, args }] });
  const [callForm, resultForm] = await forms.of([call, resultOf(run, { name, tool_call_id: toolCallId })]);
  const stored: unknown = callsOf(callForm!)[0]?.args;
  const inputs = stored !== undefined && args !== run.inputs ? fieldsOf(stored)["input"] : stored;
  return { ...run, inputs: inputs ?? null, outputs: outputsIn(resultForm as ToolMessage, run) };
}

/** Texts and blocks are what a message carries; other values are shown to the function as JSON, and as an artifact. */
function resultOf({ outputs, status }: ToolInvocation, about: { name: string; tool_call_id: string }): ToolMessage {
  return new ToolMessage({
    ...about,
    status: status === "error" ? "error" : "success",
    ...(isContent(outputs) ? { content: outputs } : { content: JSON.stringify(outputs), artifact: outputs }),
  });
}

function outputsIn({ content, artifact }: ToolMessage, { outputs }: ToolInvocation): unknown {
  if (isContent(outputs)) {
    return content;
  }
  const isChanged = JSON.stringify(artifact) !== JSON.stringify(outputs);
  const text = textOf({ content });
  return isChanged || text === JSON.stringify(outputs) ? (artifact ?? null) : (valueIn(text) ?? text);
}

function isContent(outputs: unknown): outputs is MessageContent {
  return typeof outputs === "string" || (Array.isArray(outputs) && outputs.length > 0 && outputs.every(isBlock));
}

function isBlock(value: unknown): value is Block {
  return typeof fieldsOf(value)["type"] === "string";
}
