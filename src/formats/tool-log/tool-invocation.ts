import * as z from "zod/mini";
import { BaseCallbackHandler } from "@langchain/core/callbacks/base";
import type { ToolMessage } from "@langchain/core/messages";
import type { Serialized } from "@langchain/core/load/serializable";
import { keepFirstUnits } from "../../base/graphemes.js";
import { anyText, lazy, parseOptions, type SchemaOutput } from "../../base/options.js";
import { copyJson, isPlainObject, jsonSnapshot } from "../../base/json.js";
import { momentSchema, nonEmpty } from "../openai/message-schema.js";
import { timeOrderedIds } from "../../base/ids.js";
import { BoundedMap } from "../../base/bounds.js";
import { valueIn } from "../../conversation/messages/message.js";

/** Outcome of a run. Other words than these two are kept as well. */
export type ToolStatus = "success" | "error" | (string & {});

/** A tool run to record. Inputs and outputs may be any value; the record keeps what JSON can express of them. */
export interface NewToolInvocation {
  /** Name of the tool. */
  readonly name?: string;
  /** The tool's arguments. */
  readonly inputs: unknown;
  /** The tool's result; by convention the error's message if the status is `error`. */
  readonly outputs: unknown;
  /** How the run ended. */
  readonly status: ToolStatus;
  /** The id of the tool call that requested the run: links the record to the message that made the call. */
  readonly toolCallId?: string;
  /** When the run began: ISO 8601 with a time zone, stored in UTC to the millisecond. @default now */
  readonly timestamp?: string;
  /** How long the run took, in milliseconds. */
  readonly durationMs?: number;
  /** JSON data of your own. @default {} */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A recorded tool run. */
export interface ToolInvocation extends NewToolInvocation {
  /** The record's id; ids that one process gives sort by time. */
  readonly id: string;
  /** When the run began: ISO 8601 in UTC. */
  readonly timestamp: string;
  /** JSON data of your own; empty where none was given. */
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Filter: records must match every given field. */
export interface ToolInvocationFilter {
  /** Name of the tool. */
  readonly name?: string;
  /** Status of the run. */
  readonly status?: ToolStatus;
  /** Id of the requesting tool call. */
  readonly toolCallId?: string;
  /** Earliest start of the run: ISO 8601 with a time zone. */
  readonly since?: string;
}

const newFields = lazy(() => ({
  name: z.optional(anyText()),
  inputs: z.optional(z.unknown()),
  outputs: z.optional(z.unknown()),
  status: nonEmpty(),
  toolCallId: z.optional(anyText()),
  timestamp: z.optional(momentSchema()),
  durationMs: z.optional(z.number("must be a number").check(z.minimum(0, "must be 0 or more"))),
  meta: z.optional(z.custom<Record<string, unknown>>(isPlainObject, "must be a plain object")),
}));
const newSchema = lazy(() => z.strictObject(newFields()));
const recordSchema = lazy(() => z.strictObject({ ...newFields(), id: z.optional(nonEmpty()) }));
const recordsSchema = lazy(() => z.object({ records: z.array(recordSchema(), "must be an array of records") }));
const filterSchema = lazy(() =>
  z.strictObject({
    name: z.optional(anyText()),
    status: z.optional(anyText()),
    toolCallId: z.optional(anyText()),
    since: z.optional(momentSchema()),
  }),
);

/** Creates the record of a run, with an id that sorts by time. @throws ConfigurationError naming the field. */
export function newInvocation(owner: string, invocation: NewToolInvocation): ToolInvocation {
  return complete(parseOptions(owner, newSchema(), invocation));
}

/**
 * Copies existing records and adds what they lack (id, timestamp, meta).
 * @throws ConfigurationError naming the field.
 */
export function parseInvocations(owner: string, records: unknown): ToolInvocation[] {
  return parseOptions(owner, recordsSchema(), { records }).records.map(complete);
}

/** Returns the matching records, in order. @throws ConfigurationError naming the field of the filter. */
export function filterInvocations(
  owner: string,
  records: readonly ToolInvocation[],
  filter: ToolInvocationFilter,
): ToolInvocation[] {
  const { since, ...equal } = parseOptions(owner, filterSchema(), filter);
  const wanted = Object.entries(equal).filter(([, value]) => value !== undefined);
  const earliest = since === undefined ? -Infinity : Date.parse(since);
  return records.filter(
    (record) =>
      wanted.every(([key, value]) => record[key as keyof ToolInvocationFilter & keyof ToolInvocation] === value) &&
      Date.parse(record.timestamp) >= earliest,
  );
}

/**
 * Cuts inputs and outputs that are longer than `maxCharacters` as JSON to the beginning of their text; `meta` then says
 * how long they were (`clippedInputs`, `clippedOutputs`).
 */
export function clipInvocation(record: ToolInvocation, maxCharacters: number): ToolInvocation {
  const inputs = clip(record.inputs, maxCharacters);
  const outputs = clip(record.outputs, maxCharacters);
  const meta = {
    ...record.meta,
    ...(inputs !== undefined && { clippedInputs: inputs.length }),
    ...(outputs !== undefined && { clippedOutputs: outputs.length }),
  };
  return { ...record, ...(inputs && { inputs: inputs.text }), ...(outputs && { outputs: outputs.text }), meta };
}

function clip(value: unknown, maxCharacters: number): { text: string; length: number } | undefined {
  const whole = typeof value === "string" ? value : JSON.stringify(value);
  return whole.length <= maxCharacters
    ? undefined
    : { text: keepFirstUnits(whole, maxCharacters), length: whole.length };
}

/** Ids of this process; they sort in the order in which its records were created. */
const nextId = timeOrderedIds();

function complete(record: SchemaOutput<typeof recordSchema>): ToolInvocation {
  const { id, name, inputs, outputs, status, toolCallId, timestamp, durationMs, meta } = record;
  const now = new Date();
  return {
    id: id ?? nextId(now.getTime()),
    ...(name !== undefined && { name }),
    inputs: jsonSnapshot(inputs),
    outputs: jsonSnapshot(outputs),
    status,
    ...(toolCallId !== undefined && { toolCallId }),
    timestamp: (timestamp === undefined ? now : new Date(timestamp)).toISOString(),
    ...(durationMs !== undefined && { durationMs }),
    meta: copyJson(meta ?? {}, "meta"),
  };
}

interface StartedRun {
  readonly name: string;
  readonly inputs: unknown;
  readonly toolCallId: string | undefined;
  readonly timestamp: string;
  readonly startedAt: number;
}

/**
 * How many started runs to remember; the oldest are forgotten first. LangChain does not report the end of a run whose
 * tool breaks its response format.
 */
const maxStartedRuns = 10_000;

/**
 * Records every tool run that LangChain reports.
 *
 * LangChain awaits this handler, so no record is lost if the process ends after the run. If writing the log fails,
 * LangChain prints a warning and the run continues. LangChain does not report runs that it refuses before the tool
 * starts (input that does not match the schema).
 */
export class ToolCallbackHandler extends BaseCallbackHandler {
  override name = "tool_invocation_history";
  readonly #started = new BoundedMap<string, StartedRun>(maxStartedRuns);
  readonly #add: (invocation: NewToolInvocation) => unknown;

  constructor(add: (invocation: NewToolInvocation) => unknown) {
    super({ _awaitHandler: true, ignoreLLM: true, ignoreChain: true, ignoreRetriever: true, ignoreCustomEvent: true });
    this.#add = add;
  }

  /** Returns this handler: a copy would not know the runs that have started. */
  override copy(): this {
    return this;
  }

  override handleToolStart(...[tool, input, runId, , , , runName, toolCallId]: ToolStartArguments): void {
    this.#started.set(runId, {
      name: runName ?? nameOf(tool),
      inputs: inputsOf(input),
      toolCallId,
      timestamp: new Date().toISOString(),
      startedAt: performance.now(),
    });
  }

  /**
   * Records a run that ended. A tool message with status `error` is an error that the tool handled itself.
   */
  override async handleToolEnd(output: unknown, runId: string): Promise<void> {
    const message = isToolMessage(output) ? output : undefined;
    await this.#record(runId, {
      outputs: message === undefined ? output : message.content,
      status: message?.status === "error" ? "error" : "success",
      ...(message?.name !== undefined && { name: message.name }),
      ...(message?.tool_call_id && { toolCallId: message.tool_call_id }),
    });
  }

  /** Records a run that threw: the error's message as `outputs`, its name as `meta.errorType`. */
  override async handleToolError(error: unknown, runId: string): Promise<void> {
    const { name, message } = (error ?? {}) as { name?: unknown; message?: unknown };
    await this.#record(runId, {
      outputs: typeof message === "string" ? message : String(error),
      status: "error",
      meta: { errorType: typeof name === "string" ? name : typeof error },
    });
  }

  async #record(runId: string, end: Omit<NewToolInvocation, "inputs">): Promise<void> {
    const started = this.#started.get(runId);
    if (started === undefined) {
      return;
    }
    this.#started.delete(runId);
    const { startedAt, toolCallId, ...start } = started;
    await this.#add({
      ...start,
      ...(toolCallId !== undefined && { toolCallId }),
      durationMs: Math.max(0, performance.now() - startedAt),
      ...end,
    });
  }
}

type ToolStartArguments = Parameters<NonNullable<BaseCallbackHandler["handleToolStart"]>>;

function isToolMessage(output: unknown): output is ToolMessage {
  const { getType } = (output ?? {}) as { getType?: unknown };
  return typeof getType === "function" && (output as { getType(): unknown }).getType() === "tool";
}

/** LangChain passes the arguments as text, even if they are an object. */
function inputsOf(input: unknown): unknown {
  if (typeof input !== "string" || !input.startsWith("{")) {
    return input;
  }
  const value = valueIn(input);
  return isPlainObject(value) ? value : input;
}

function nameOf(tool: Serialized | undefined): string {
  return (tool as { name?: string } | undefined)?.name ?? tool?.id?.at(-1) ?? "";
}
