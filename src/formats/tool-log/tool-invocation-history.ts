import type { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import * as z from "zod/mini";
import { parseOptions, positiveInteger, inspectedAs } from "../../base/options.js";
import { parseJson } from "../../base/json.js";
import { ToolCallbackHandler, filterInvocations, newInvocation, parseInvocations } from "./tool-invocation.js";
import type { NewToolInvocation, ToolInvocation, ToolInvocationFilter } from "./tool-invocation.js";

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
