import { z } from "zod";
import { graphemeBoundary } from "../../text/graphemes.js";
import { anyText, lazy, parseOptions, type SchemaOutput } from "../../options.js";
import { copyJson, isPlainObject, jsonSnapshot } from "../json-value.js";
import { nonEmpty } from "../message-schema.js";
import { timeOrderedIds } from "../../time-ordered-id.js";
import { comparableTimestamp, timestampSchema, toUtc, type Clock } from "../timestamp.js";

/** How a run ended; other words than these two are kept as they are. */
export type ToolStatus = "success" | "error" | (string & {});

/** A tool run to record. Inputs and outputs may be anything; what is kept is what JSON can hold of them. */
export interface NewToolInvocation {
  /** Name of the tool. */
  readonly name?: string;
  readonly inputs: unknown;
  /** What came out; by convention the error's message where the status is `error`. */
  readonly outputs: unknown;
  readonly status: ToolStatus;
  /** Id of the tool call that asked for the run: links the record to the message that made the call. */
  readonly toolCallId?: string;
  /** When the run began: ISO 8601 with its zone, kept in UTC. @default now */
  readonly timestamp?: string;
  /** How long the run took, in milliseconds. */
  readonly durationMs?: number;
  /** JSON data of your own. @default {} */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A recorded tool run. */
export interface ToolInvocation extends NewToolInvocation {
  readonly id: string;
  readonly timestamp: string;
  readonly meta: Readonly<Record<string, unknown>>;
}

/** Which records to return: those for which all of what is given holds. */
export interface ToolInvocationFilter {
  readonly name?: string;
  readonly status?: ToolStatus;
  readonly toolCallId?: string;
  /** Runs that began at this moment or later: ISO 8601 with its zone. */
  readonly since?: string;
}

const newFields = lazy(() => ({
  name: anyText().optional(),
  inputs: z.unknown().optional(),
  outputs: z.unknown().optional(),
  status: nonEmpty(),
  toolCallId: anyText().optional(),
  timestamp: timestampSchema().optional(),
  durationMs: z.number("must be a number").min(0, "must be 0 or more").optional(),
  meta: z.custom<Record<string, unknown>>(isPlainObject, "must be a plain object").optional(),
}));
const newSchema = lazy(() => z.strictObject(newFields()));
const recordSchema = lazy(() => z.strictObject({ ...newFields(), id: nonEmpty().optional() }));
const recordsSchema = lazy(() => z.object({ records: z.array(recordSchema(), "must be an array of records") }));
const filterSchema = lazy(() =>
  z.strictObject({
    name: anyText().optional(),
    status: anyText().optional(),
    toolCallId: anyText().optional(),
    since: timestampSchema().optional(),
  }),
);

/** The record of a run, with an id that orders by time. @throws ConfigurationError naming the field. */
export function newInvocation(owner: string, invocation: NewToolInvocation, clock: Clock): ToolInvocation {
  return complete(parseOptions(owner, newSchema(), invocation), clock);
}

/**
 * Copies of records that exist already; what they lack (id, timestamp, meta) is added.
 * @throws ConfigurationError naming the place.
 */
export function parseInvocations(owner: string, records: unknown, clock: Clock): ToolInvocation[] {
  const parsed = parseOptions(owner, recordsSchema(), { records });
  return parsed.records.map((record) => complete(record, clock));
}

/** The records that pass, in their order. @throws ConfigurationError naming the field of the filter. */
export function filterInvocations(
  owner: string,
  records: readonly ToolInvocation[],
  filter: ToolInvocationFilter,
): ToolInvocation[] {
  const { since, ...equal } = parseOptions(owner, filterSchema(), filter);
  const wanted = Object.entries(equal).filter(([, value]) => value !== undefined);
  const earliest = since === undefined ? undefined : comparableTimestamp(toUtc(since));
  return records.filter(
    (record) =>
      wanted.every(([key, value]) => record[key as keyof ToolInvocationFilter & keyof ToolInvocation] === value) &&
      (earliest === undefined || comparableTimestamp(record.timestamp) >= earliest),
  );
}

/** A deep copy. */
export function copyInvocation(record: ToolInvocation): ToolInvocation {
  return structuredClone(record);
}

/**
 * The record with inputs and outputs no longer, as JSON, than so many characters each: a longer one becomes the
 * beginning of its text, and `meta` says how long it was (`clippedInputs`, `clippedOutputs`).
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
    : { text: whole.slice(0, graphemeBoundary(whole, maxCharacters)), length: whole.length };
}

/** The ids of this process, in the order in which its records were made. */
const nextId = timeOrderedIds();

function complete(record: SchemaOutput<typeof recordSchema>, clock: Clock): ToolInvocation {
  const { id, name, inputs, outputs, status, toolCallId, timestamp, durationMs, meta } = record;
  const now = clock();
  return {
    id: id ?? nextId(now.getTime()),
    ...(name !== undefined && { name }),
    inputs: jsonSnapshot(inputs),
    outputs: jsonSnapshot(outputs),
    status,
    ...(toolCallId !== undefined && { toolCallId }),
    timestamp: timestamp === undefined ? now.toISOString() : toUtc(timestamp),
    ...(durationMs !== undefined && { durationMs }),
    meta: copyJson(meta ?? {}, "meta"),
  };
}
