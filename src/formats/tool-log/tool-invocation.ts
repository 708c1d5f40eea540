import * as z from "zod/mini";
import { keepFirstUnits } from "../../base/graphemes.js";
import { anyText, lazy, parseOptions, type SchemaOutput } from "../../base/options.js";
import { copyJson, isPlainObject, jsonSnapshot } from "../../base/json.js";
import { momentSchema, nonEmpty } from "../openai/message-schema.js";
import { timeOrderedIds } from "../../base/ids.js";

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
